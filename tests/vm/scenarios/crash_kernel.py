# SPDX-License-Identifier: LGPL-2.1-or-later
"""The kernel panics, and a second kernel saves the crash dump in the little memory that was set aside for it (kdump).
hugeplan reserves nothing there, and does not count that boot."""

import ctypes
import os
from pathlib import Path

from guestlib import *
from scenario import EARLY_TARGET, Boot, Node, Scenario

PAGES = 30
COUNTED = Path("/etc/hugeplan.d/.boots")
COUNTED_BEFORE = Path("/var/lib/boots")
# linux/kexec.h; the number of kexec_file_load(2) on amd64
KEXEC_FILE_LOAD, KEXEC_FILE_ON_CRASH, KEXEC_FILE_NO_INITRAMFS = 320, 2, 4


def load_crash_kernel() -> None:
    line = re.sub(r"(crashkernel|systemd\.unit)=\S+", "", Path("/proc/cmdline").read_text().strip())
    line += " systemd.unit=dump.target reset_devices nr_cpus=1 irqpoll"
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/vm/kernel", "rb") as kernel:
        done = libc.syscall(KEXEC_FILE_LOAD, kernel.fileno(), -1, ctypes.c_ulong(len(line) + 1), line.encode(),
                            ctypes.c_ulong(KEXEC_FILE_ON_CRASH | KEXEC_FILE_NO_INITRAMFS))
    check(done == 0, "before: the crash kernel is loaded", os.strerror(ctypes.get_errno()))


def panic() -> None:
    check_equal(instance("db")["verdict"], "ready", "before: db is ready")
    check_equal(unit("db.service"), "active", "before: and runs")
    load_crash_kernel()
    COUNTED_BEFORE.write_bytes(COUNTED.read_bytes())
    sh("sync; echo c >/proc/sysrq-trigger")


def saved() -> None:
    check_equal(sum(pools().values()), 0, "crash kernel: nothing is reserved")
    check_equal([unit("hugeplan.service"), unit("hugeplan.socket")], ["inactive", "inactive"],
                "crash kernel: neither the daemon nor its socket is active")
    check_equal(COUNTED.read_text().split(), COUNTED_BEFORE.read_text().split(), "crash kernel: the boot is not counted")
    shown = sh("hugeplanctl status").stdout
    check("aside" in shown and "save a crash dump" in shown, "crash kernel: the status says why", shown)
    check("hugeplanctl wait" not in output("systemctl cat db.service"), "crash kernel: units have no gates")
    systemctl("start db.service", "crash kernel: a unit starts unchecked")


SCENARIO = Scenario(
    nodes=(Node("1G"),),
    has_kernel=True,
    files={
        "/etc/hugeplan.d/20-db.conf": f"[Instance]\nUnit=db.service\nPages={PAGES}\n",
        "/etc/systemd/system/db.service": "[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n",
        # As kdump-tools-dump.service, which has the default dependencies.
        "/etc/systemd/system/dump.target": EARLY_TARGET,
    },
    enable=("db.service",),
    boots=(Boot(lambda: (saved if Path("/proc/vmcore").exists() else panic)(), kernel_args="crashkernel=256M"),),
)
