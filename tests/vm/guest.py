# SPDX-License-Identifier: LGPL-2.1-or-later
"""One boot of a guest in qemu, and the disk that is kept from boot to boot.

The guest has three NVMe namespaces: 1 is its root disk, 2 the payload (a tar), 3 has room for the results (a tar).
Linux scans namespaces in any order, so the guest identifies them by their ids. The guest sends messages over its second
serial port, one JSON object a line. Its console only goes into a log.

Each temporary file is unlinked as soon as it is open, and qemu is killed with this process, so nothing is left behind
however a run ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from image import ROOT_DEVICE, Image
from scenario import Boot, Node, Scenario

# From power-on to the guest's first process, which takes 3 to 8 s. Under emulation the kernel sometimes hangs before
# that.
UP_LIMIT_SEC = 60
# From power-on to the start of the checks. A boot takes 5 to 15 s; a gate may delay it by 90 s.
BEGIN_LIMIT_SEC = 180
POWER_OFF_LIMIT_SEC = 60
QMP_LIMIT_SEC = 30
RESULTS_BYTES = 64 << 20
MIB = 1 << 20

# Emulation on each host, because a nested KVM often exists and does not work.
# One thread emulates both CPUs in turn: with a thread for each, the guest's CPUs wait for each other in loops, and
# atomic instructions take longer, so that a boot takes a fifth more of processor time, and much more on a busy host.
ACCELERATOR = os.environ.get("HUGEPLAN_VM_ACCEL", "tcg,thread=single")

# A power of two; qemu takes its exponent.
COUNTED_NSEC = 4
COUNTED_ARGS = ("-accel", "tcg,thread=single", "-icount", f"shift={COUNTED_NSEC.bit_length() - 1}")

# An old processor, because AVX takes longer to emulate than the instructions that it replaces: a guest with "max" takes
# a third longer. With pages of 1 GiB, and with rdrand for programs that wait for random numbers. Without cmpxchg16b, by
# which kernel 6.12 allocates memory: under qemu 7.2 a boot sometimes panicked right after that instruction, with half a
# pointer in the flags register.
CPU = "Nehalem,pdpe1gb=on,rdrand=on,cx16=off"

# By architecture: qemu, its machine, and the option that adds a serial port. The first two ports are ttyS0 and ttyS1.
MACHINES = {
    "amd64": ("qemu-system-x86_64", ("-machine", "q35", "-cpu", CPU), ("-serial", "chardev:")),
    # This processor has pages of 16K. It has no authenticated pointers, which take long to emulate.
    "arm64": (
        "qemu-system-aarch64",
        ("-machine", "virt,gic-version=3", "-cpu", "max,pauth=off,sve=off"),
        ("-device", "pci-serial,chardev="),
    ),
}

# Not "tsc=reliable": on a busy host the kernel may calibrate the counter to a seventh of its rate, and the guest's
# clock then runs seven times too fast; the HPET's rate needs no calibration. While it checks its timer there, it counts
# too few ticks and panics. Zeroing all memory once more when it is allocated takes longest to emulate, and of each
# unit's namespaces the wait until other CPUs have passed through their schedulers. A program is translated anew for
# each address that it is loaded at.
KERNEL_ARGS = (
    f"root={ROOT_DEVICE} rootfstype=ext4 ro init=/usr/sbin/hugeplan-vm-init console=ttyS0 "
    "loglevel=4 panic=-1 mitigations=off edd=off raid=noautodetect audit=0 net.ifnames=0 "
    "tsc=unstable no_timer_check norandmaps init_on_alloc=0 rcupdate.rcu_expedited=1 systemd.show_status=auto"
)
# Nothing uses ciphers or kprobes; but a boot that is measured takes what it takes elsewhere.
FASTER_KERNEL_ARGS = "cryptomgr.notests initcall_blacklist=crypto_kdf108_init,load_system_certificate_list,init_kprobe_trace"
# For the second attempt at a boot that did not reach its checks: systemd prints what it does.
LOUD_KERNEL_ARGS = (
    "systemd.show_status=1 systemd.journald.forward_to_console=1 "
    "systemd.journald.max_level_console=info"
)

_libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
PR_SET_THP_DISABLE = 41


class NotBegun(Exception):
    """The guest panicked, hung or ended before its checks began, which says nothing about hugeplan."""


class Interrupted(Exception):
    """The guest panicked, hung or ended while its checks ran: the scenario has failed."""


class QmpError(Exception):
    pass


class Disk:
    """A copy-on-write chain over an image: one layer for each boot.

    The layer is dropped before a second attempt at its boot, which so starts from the same state as the first one.
    """

    def __init__(self, image: Image, directory: Path, is_kept: bool = False) -> None:
        self._directory = directory
        self._is_kept = is_kept
        self._bytes = image.disk.stat().st_size
        self._layers: list[int] = []
        self._names = [str(image.disk)]
        self._formats = ["raw"]

    @property
    def name(self) -> str:
        return self._names[-1]

    @property
    def descriptors(self) -> list[int]:
        """The descriptors that a child process needs to open `name` and the layers below it."""
        return self._layers

    def add_layer(self) -> None:
        path = self._directory / f"disk-{len(self._layers)}.qcow2"
        below = ["-F", self._formats[-1], "-b", self._names[-1]]
        subprocess.run(
            ["qemu-img", "create", "-q", "-u", "-f", "qcow2", *below, str(path), str(self._bytes)],
            check=True,
        )
        descriptor = os.open(path, os.O_RDWR)
        self._layers.append(descriptor)
        self._formats.append("qcow2")
        if self._is_kept:
            self._names.append(str(path))
        else:
            path.unlink()
            self._names.append(f"/proc/self/fd/{descriptor}")

    def drop_layer(self) -> None:
        name = self._names.pop()
        self._formats.pop()
        os.close(self._layers.pop())
        if self._is_kept:
            Path(name).unlink()

    def __enter__(self) -> Disk:
        return self

    def __exit__(self, *_: object) -> None:
        while self._layers:
            os.close(self._layers.pop())


class Guest:
    """A running guest. Closing it kills qemu, unless qemu has ended."""

    def __init__(
        self,
        image: Image,
        disk: Disk,
        scenario: Scenario,
        payload: BinaryIO,
        log_prefix: Path,
        boot: Boot,
        kernel_args: str,
    ) -> None:
        limit_sec = boot.limit_sec
        self._log_prefix = log_prefix
        self._powered_on = time.monotonic()
        self._deadline = self._powered_on + limit_sec
        self._up_deadline = self._powered_on + min(UP_LIMIT_SEC, limit_sec)
        self._begin_deadline = self._powered_on + min(BEGIN_LIMIT_SEC, limit_sec)
        self._is_up = self._began = False
        self._lines = b""
        self._monitor_lines: BinaryIO | None = None
        self._results = tempfile.TemporaryFile()
        self._results.truncate(RESULTS_BYTES)
        self._control, control = socket.socketpair()
        self._monitor, monitor = socket.socketpair()
        self._monitor.settimeout(QMP_LIMIT_SEC)
        passed = [control.fileno(), monitor.fileno(), payload.fileno(), self._results.fileno()]
        qemu, machine, (serial, port) = MACHINES[image.architecture]
        command = [
            *(qemu, *machine),
            *_machine_args(scenario),
            *_disk_args(disk.name, _descriptor_name(payload), _descriptor_name(self._results)),
            *(*image.kernel_args(boot.kernel), "-append", kernel_args),
            *("-chardev", f"file,id=console,path={log_prefix}.console.log"),
            *(serial, f"{port}console"),
            *("-chardev", f"socket,id=control,fd={control.fileno()}"),
            *(serial, f"{port}control"),
            *("-chardev", f"socket,id=monitor,fd={monitor.fileno()}"),
            *("-mon", "chardev=monitor,mode=control"),
        ]
        with open(f"{log_prefix}.qemu.log", "w") as log:
            log.write(" ".join(command) + "\n")
            log.flush()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[*passed, *disk.descriptors],
                preexec_fn=begin_child,
            )
        control.close()
        monitor.close()

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for end in (self._control, self._monitor, self._results):
            end.close()

    def messages(self) -> Iterator[dict[str, Any]]:
        """The guest's messages, until the guest is off."""
        while True:
            message = self._receive()
            if message["event"] == "up":
                self._is_up = True
                yield self._time_note("systemd takes over")
            elif message["event"] == "begin":
                self._began = True
                yield self._time_note("the test begins")
            elif message["event"] == "done":
                yield self._time_note("the test has ended")
                try:
                    self._process.wait(POWER_OFF_LIMIT_SEC)
                except subprocess.TimeoutExpired:
                    raise Interrupted(f"the guest was not off after {POWER_OFF_LIMIT_SEC} s") from None
                yield self._time_note("the guest is off")
                return
            else:
                yield message

    def answer(self, value: Any) -> None:
        self._control.sendall(json.dumps(value).encode() + b"\n")

    def processor_msec(self) -> float:
        """The processor time of qemu so far, which depends less than wall time on how busy this host is."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def qmp(self, command: str, **arguments: Any) -> Any:
        """Runs a command of qemu's monitor, such as one that plugs memory."""
        if self._monitor_lines is None:
            self._monitor_lines = self._monitor.makefile("rb")
            self._monitor_lines.readline()  # the greeting
            self.qmp("qmp_capabilities")
        self._monitor.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while line := self._monitor_lines.readline():
            reply = json.loads(line)
            if "error" in reply:
                raise QmpError(f"{command}: {reply['error']['desc']}")
            if "return" in reply:
                return reply["return"]
        raise QmpError(f"{command}: qemu is gone")

    def unpack_results(self, directory: Path) -> None:
        """Writes the guest's evidence as files; none if the guest could not leave any."""
        self._results.seek(0)
        with (
            contextlib.suppress(tarfile.TarError),
            tarfile.open(fileobj=self._results, mode="r:") as results,
        ):
            for member in results:
                if source := results.extractfile(member):
                    with (directory / Path(member.name).name).open("wb") as file:
                        shutil.copyfileobj(source, file)

    def _time_note(self, what: str) -> dict[str, Any]:
        used = "" if self._process.poll() is not None else f", {self.processor_msec() / 1000:.1f} s of a processor"
        return {"event": "note", "text": f"{time.monotonic() - self._powered_on:.1f} s{used}: {what}"}

    def _receive(self) -> dict[str, Any]:
        while b"\n" not in self._lines:
            try:
                self._control.settimeout(max(self._next_deadline() - time.monotonic(), 0.001))
                data = self._control.recv(65536)
            except TimeoutError:
                # The registers show what a guest does that hangs: HLT=1 means that a CPU is idle, else it is busy at RIP.
                with contextlib.suppress(QmpError, OSError):
                    registers = self.qmp("human-monitor-command", **{"command-line": "info registers -a"})
                    Path(f"{self._log_prefix}.processors.log").write_text(registers)
                raise self._ended("hung") from None
            if not data:
                raise self._ended("panicked or powered off")
            self._lines += data
        line, self._lines = self._lines.split(b"\n", 1)
        # Other programs may write to this port, too.
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict) and "event" in message:
                return message
        return {"event": "note", "text": line.decode(errors="replace")}

    def _next_deadline(self) -> float:
        if self._began:
            return self._deadline
        return self._begin_deadline if self._is_up else self._up_deadline

    def _ended(self, how: str) -> Exception:
        if self._began:
            return Interrupted(f"the guest {how} while its test ran")
        return NotBegun(f"the guest {how} before its test began")


def begin_child() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # This host would clear a huge page for each part of its memory that a guest touches.
    _libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def _descriptor_name(file: BinaryIO) -> str:
    return f"/proc/self/fd/{file.fileno()}"


def _machine_args(scenario: Scenario) -> list[str]:
    total = sum(_bytes(node.memory) for node in scenario.nodes if node.memory)
    memory = f"{total // MIB}M" + (f",{scenario.hotplug}" if scenario.hotplug else "")
    return [
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *(COUNTED_ARGS if scenario.is_counted else ("-accel", ACCELERATOR)),
        *("-smp", _processors(scenario.nodes)),
        *("-m", memory),
        *_numa_args(scenario.nodes),
    ]


def _processors(nodes: tuple[Node, ...]) -> str:
    """A socket for each node that has CPUs, because Linux would number the nodes in another order otherwise."""
    cpus = [node.cpus for node in nodes if node.cpus]
    sockets = len(cpus) if len(set(cpus)) == 1 else sum(cpus)
    return f"{sum(cpus)},sockets={sockets},cores={sum(cpus) // sockets},threads=1"


def _numa_args(nodes: tuple[Node, ...]) -> list[str]:
    arguments = []
    next_cpu = 0
    for number, node in enumerate(nodes):
        numa = f"node,nodeid={number}"
        if node.memory:
            # Not reserved: a guest may have more memory than this host, as long as it does not touch all of it.
            backend = f"memory-backend-ram,id=memory{number},size={node.memory},reserve=off"
            arguments += ["-object", backend]
            numa += f",memdev=memory{number}"
        if node.cpus:
            numa += f",cpus={next_cpu}-{next_cpu + node.cpus - 1}"
            next_cpu += node.cpus
        arguments += ["-numa", numa]
    return arguments


def _disk_args(disk: str, payload: str, results: str) -> list[str]:
    # These disks are not needed after a crash of the host.
    common = "if=none,cache=unsafe,discard=unmap"
    return [
        *("-drive", f"{common},id=root,format=qcow2,file={disk}"),
        *("-drive", f"{common},id=payload,format=raw,read-only=on,file={payload}"),
        *("-drive", f"{common},id=results,format=raw,file={results}"),
        *("-device", "nvme,id=nvme,serial=hugeplan"),
        *("-device", "nvme-ns,bus=nvme,nsid=1,drive=root"),
        *("-device", "nvme-ns,bus=nvme,nsid=2,drive=payload"),
        *("-device", "nvme-ns,bus=nvme,nsid=3,drive=results"),
    ]


def _bytes(size: str) -> int:
    return int(size[:-1]) * {"M": MIB, "G": 1024 * MIB}[size[-1]]
