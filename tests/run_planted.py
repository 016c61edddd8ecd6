#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`import` finds everything that sets huge pages at boot: for lines in ten forms in every place that is read or run at
boot it prints file and line, and for a script the units that run it.

usage: run_planted.py --hugeplanctl=PROGRAM
"""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import sys
import tempfile
from collections.abc import Iterator

import common
import run_import
import unpack_host

POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
NODE_POOL = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"

COMMANDS = (
    "echo 64 > /proc/sys/vm/nr_hugepages",
    f"echo 64 | tee {POOL}",
    "sysctl -qw vm.nr_hugepages=64",
    "sysctl -w \"vm.nr_hugepages = $((32 * 2))\"",
    "hugeadm --pool-pages-min 2MB:64",
    "dpdk-hugepages.py -p 2M --setup 128M",
    "NRHUGE=64 /opt/spdk/scripts/setup.sh",
    "virsh allocpages 2048 64",
    "for n in /sys/devices/system/node/node*; do echo 32 > $n/hugepages/hugepages-2048kB/nr_hugepages; done",
    "python3 -c \"open('/proc/sys/vm/nr_hugepages', 'w').write('64')\"",
)
KERNEL_ARGUMENTS = (
    "hugepages=64",
    "quiet hugepagesz=2M hugepages=64",
    "default_hugepagesz=2M hugepages=64 quiet",
    "hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=64",
    "hugepages=0:32,1:32",
    "isolcpus=2-3 hugepages=64",
    "hugepages=${pages}",
    "hugepages=64M",
    "hugetlb_cma=128M",
    "sysctl.vm.nr_hugepages=64",
)
SYSCTL_LINES = (
    "vm.nr_hugepages=64",
    "vm.nr_hugepages = 65",
    "vm/nr_hugepages=66",
    "-vm.nr_hugepages=67",
    "  vm.nr_hugepages  =  68  ",
    "vm.nr_hugepages_mempolicy=69",
    "vm.nr_overcommit_hugepages=70",
    "vm.nr_hugepages=@PAGES@",
    "vm.nr_hugepages=1609.0",
    "vm.nr_huge*=71",
)
TMPFILES_LINES = (
    f"w {POOL} - - - - 64",
    f"w! {POOL} - - - - 65",
    f"w+ {POOL} - - - - 66",
    f"w- {POOL} - - - - 67",
    f"w {NODE_POOL} - - - - 68",
    "w /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages - - - - 69",
    "w /proc/sys/vm/nr_hugepages - - - - 70",
    "w /proc/sys/vm/nr_hugepages - - - - 71\\n",
    f"w {POOL} - - - - many",
    "w /sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages - - - - 72",
)
VARIABLES = (
    "NR_HUGEPAGES=64",
    "NR_HUGEPAGES='64'",
    "HUGEPAGES=64",
    "nr_hugepages_2M=64",
    "vm_nr_hugepages=64",
    "NRHUGE=64",
    "HUGEMEM=128",
    "NR_2M_PAGES=64",
    "NR_1G_PAGES=1",
    "OPTIONS=--hugepages=64",
)
SYSFS_LINES = (
    "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages = 64",
    "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages=65",
    "devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages = 66",
    f"{POOL} = 67",
    "kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages = 68",
    "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages_mempolicy = 69",
    "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages = many",
    "mode kernel/mm/hugepages/hugepages-2048kB/nr_hugepages = 0600",
    "kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages = 1",
    "kernel/mm/hugepages/hugepages-*/nr_hugepages = 70",
)


@dataclasses.dataclass(frozen=True)
class Place:
    files: str  # names, "a b"
    forms: tuple[str, ...]
    line: str = "{}"  # the line around a form
    before: str = ""  # lines above


SHELL = "/bin/sh -c '{}'"
SCRIPT = "#!/bin/sh\n"
UNIT = "[Unit]\nDescription=x\n[Service]\nType=oneshot\n"
PLACES = (
    Place("/etc/sysctl.d/50-a.conf /run/sysctl.d/50-b.conf /usr/local/lib/sysctl.d/50-c.conf "
          "/usr/lib/sysctl.d/50-d.conf /etc/sysctl.conf", SYSCTL_LINES),
    Place("/etc/tmpfiles.d/a.conf /run/tmpfiles.d/b.conf /usr/lib/tmpfiles.d/c.conf", TMPFILES_LINES),
    Place("/etc/sysfs.conf /etc/sysfs.d/a.conf", SYSFS_LINES),
    Place("/etc/default/grub /etc/default/grub.d/50-a.cfg", KERNEL_ARGUMENTS, 'GRUB_CMDLINE_LINUX="{}"'),
    Place("/etc/default/grub.d/60-b.cfg", KERNEL_ARGUMENTS,
          'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {}"'),
    Place("/boot/loader/entries/a-6.1.conf /efi/loader/entries/b-6.1.conf", KERNEL_ARGUMENTS, "options ro {}",
          "title x\n"),
    Place("/boot/grub2/grubenv", KERNEL_ARGUMENTS, "kernelopts=root=/dev/sda1 ro {}", "# GRUB Environment Block\n"),
    Place("/etc/kernel/cmdline /usr/lib/kernel/cmdline /etc/kernel/cmdline.d/a.conf /etc/cmdline.d/a.conf",
          KERNEL_ARGUMENTS, "ro {}"),
    Place("/etc/modprobe.d/a.conf /usr/lib/modprobe.d/b.conf", COMMANDS, "install vfio {}; modprobe -i vfio"),
    Place("/etc/udev/rules.d/90-a.rules /usr/lib/udev/rules.d/90-b.rules", COMMANDS,
          'ACTION=="add", KERNEL=="mem*", RUN+="/bin/sh -c \'{}\'"'),
    Place("/etc/systemd/system/a.service /usr/lib/systemd/system/b.service /lib/systemd/system/c@.service "
          "/run/systemd/system/d.service", COMMANDS, f"ExecStart={SHELL}", UNIT),
    Place("/etc/systemd/system/postgresql.service.d/huge.conf /usr/lib/systemd/system/mariadb@.service.d/huge.conf",
          COMMANDS, f"ExecStartPre=+{SHELL}", "[Service]\n"),
    Place("/etc/systemd/system/a.socket", COMMANDS, f"ExecStartPre={SHELL}", "[Socket]\nListenStream=1\n"),
    Place("/etc/rc.local /etc/rc.d/rc.local /etc/rc.d/boot.local /etc/local.d/a.start /etc/init.d/huge "
          "/etc/rc.d/init.d/huge /etc/cron.hourly/a /etc/cron.daily/b /etc/cron.weekly/c /etc/cron.monthly/d "
          "/var/lib/cloud/scripts/per-boot/a /var/lib/cloud/scripts/per-instance/b.sh "
          "/var/lib/cloud/instance/scripts/part-001 /etc/network/if-up.d/a /etc/network/if-pre-up.d/b "
          "/etc/NetworkManager/dispatcher.d/50-a /etc/networkd-dispatcher/routable.d/50-a "
          "/etc/libvirt/hooks/qemu", COMMANDS, before=SCRIPT),
    Place("/etc/crontab /etc/cron.d/a", COMMANDS, "@reboot root {}"),
    Place("/etc/anacrontab", COMMANDS, "1 5 huge {}"),
    Place("/var/spool/cron/root /var/spool/cron/crontabs/root /var/spool/cron/tabs/root", COMMANDS, "@reboot {}"),
    Place("/etc/cloud/cloud.cfg.d/99-a.cfg /var/lib/cloud/instance/user-data.txt", COMMANDS, " - {}",
          "#cloud-config\nbootcmd:\n"),
    Place("/etc/network/interfaces /etc/network/interfaces.d/a", COMMANDS, "    up {}", "iface eth0 inet dhcp\n"),
    Place("/etc/tuned/mine/tuned.conf", SYSCTL_LINES[:3] + SYSCTL_LINES[7:8], before="[sysctl]\n"),
    Place("/etc/tuned/mine/script.sh", COMMANDS, before=SCRIPT),
    Place("/etc/tuned/a-variables.conf", VARIABLES),
    Place("/etc/dpdk/dpdk.conf", VARIABLES),
)
# Files that run or read a script or a file of variables, whose lines are found, too.
RUNNERS = (
    ("/etc/systemd/system/run-a.service", f"{UNIT}ExecStart={{}} start\n", COMMANDS),
    ("/etc/systemd/system/run-h.service", f"{UNIT}EnvironmentFile=-{{}}\nExecStart=/bin/true\n", VARIABLES),
    ("/etc/cron.d/run-b", "@reboot root {} >/dev/null 2>&1\n", COMMANDS),
    ("/etc/udev/rules.d/91-run-c.rules", 'ACTION=="add", RUN+="{}"\n', COMMANDS),
    ("/etc/modprobe.d/run-d.conf", "install nvme {} && modprobe -i nvme\n", COMMANDS),
    ("/etc/cloud/cloud.cfg.d/98-run-e.cfg", "runcmd:\n - [ {}, now ]\n", COMMANDS),
    ("/etc/network/if-up.d/run-f", "#!/bin/sh\n[ -x {0} ] && exec {0}\n", COMMANDS),
    ("/etc/init.d/run-g", "#!/bin/sh\n. {}\n", COMMANDS),
)
SHARED = "/opt/huge/shared"  # a script that two units run


def write(root: pathlib.Path, name: str, text: str) -> None:
    path = root / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def plant(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    """Writes all lines; yields file, number and text of each."""
    for place in PLACES:
        forms = [form.replace("'", "'\\''") if SHELL in place.line else form for form in place.forms]
        lines = [place.line.format(form) for form in forms]
        for name in place.files.split():
            write(root, name, place.before + "".join(f"{line}\n" for line in lines))
            for i, line in enumerate(lines, place.before.count("\n") + 1):
                yield name, i, line
    for i, (runner, text, forms) in enumerate(RUNNERS):
        script = f"/opt/huge/setup-{i}"
        write(root, runner, text.format(script))
        write(root, script, "#!/bin/bash\nset -e\n" + "".join(f"{form}\n" for form in forms))
        for number, form in enumerate(forms, 3):
            yield script, number, form
    write(root, SHARED, f"{SCRIPT}{COMMANDS[0]}\n")
    for name in ("shares-a", "shares-b"):
        write(root, f"/etc/systemd/system/{name}.service", f"{UNIT}ExecStart={SHARED}\n")
    write(root, "/etc/tuned/active_profile", "mine\n")


def main() -> int:
    program = common.parser(__doc__, "hugeplanctl").parse_args().hugeplanctl
    with tempfile.TemporaryDirectory(prefix="hugeplan-planted-") as directory:
        root = pathlib.Path(directory).resolve()
        unpack_host.unpack(common.HERE / "hosts/one-node.tree", root)
        planted = list(plant(root))
        answer = run_import.ask(program, root, "import")
    named = collections.Counter((line["file"], line["line"]) for line in answer["lines"])
    missing = [f"{name}:{number} is not named: {text}\n" for name, number, text in planted
               if (name, number) not in named]
    said = next((line["advice"] for line in answer["lines"] if line["file"] == SHARED), "nothing")
    if not said.startswith("shares-a.service runs it; shares-b.service runs it;"):
        missing.append(f"the advice for {SHARED} is: {said}\n")
    sys.stdout.write("".join(missing) + f"{len(planted)} lines, {len(missing)} not named\n")
    return 1 if missing or not planted else 0


if __name__ == "__main__":
    sys.exit(main())
