# SPDX-License-Identifier: LGPL-2.1-or-later
"""An image with a read-only root: hugeplan is a system extension, and its configuration a confext. Both are merged in the
initrd, or by the host, which then starts only the units that their release files name."""

from pathlib import Path

from databases import check_postgresql, drop_in, postgresql_files, postgresql_unit
from guestlib import *
from scenario import Boot, Node, Scenario

VERSION = 18
UNIT = postgresql_unit(VERSION)
SILENT_RELEASE = "ID=_any\n"
RELEASE = f'{SILENT_RELEASE}EXTENSION_RESTART_UNITS="hugeplan.socket hugeplan.service"\n'
RELEASE_FILES = {
    "usr": "/var/lib/extensions/hugeplan/usr/lib/extension-release.d/extension-release.hugeplan",
    "etc": "/var/lib/confexts/hugeplan/etc/extension-release.d/extension-release.hugeplan",
}
MERGING = ("systemd-sysext.service", "systemd-confext.service")
EXTENSIONS = {"usr": Path("/var/lib/extensions/hugeplan"), "etc": Path("/var/lib/confexts/hugeplan")}

# Writes to /var are lost at the end of the boot. With hugeplan_vm.merge the extensions are merged as in an initrd.
INIT = """\
#!/bin/sh
eval "$(sed '$d' /usr/sbin/hugeplan-vm-init)"
mount -t proc proc /proc
mount --make-rshared /
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/var/upper /run/var/work
modprobe overlay
mount -t overlay -o lowerdir=/var,upperdir=/run/var/upper,workdir=/run/var/work overlay /var
if grep -q hugeplan_vm.merge /proc/cmdline; then
    systemd-sysext --no-reload refresh
    systemd-confext --no-reload refresh
fi
exec /lib/systemd/systemd "$@"
"""


def moved() -> None:
    """Moves the files of hugeplan from the image into extensions, without the state of the daemon."""
    sh("systemctl stop hugeplan.socket hugeplan.service; rm -rf /etc/hugeplan.d/.* /etc/hugeplan.d/*.d")
    for tree, extension in EXTENSIONS.items():
        release = Path(RELEASE_FILES[tree])
        release.parent.mkdir(parents=True)
        release.write_text(RELEASE)
        found = f"find {tree} -path '*hugepl*' ! -name 'hugeplan-vm*' ! -type d -print0"
        output(f"cd / && {found} | tar -c --remove-files --null -T - | tar -x -C {extension}")
    wants = EXTENSIONS["usr"] / "usr/lib/systemd/system/hugeplan.service.wants"
    wants.mkdir()
    (wants / "hugeplan-check.service").symlink_to("../hugeplan-check.service")
    output("sed -i s/defaults/ro/ /etc/fstab")


def reserved() -> None:
    done = sh("touch /probe /usr/probe /etc/probe")
    check_equal(done.stderr.count("Read-only file system"), 3, "the root, /usr and /etc are read-only")
    check("hugeplanctl wait pg" in drop_in(UNIT), "its gate is in place", drop_in(UNIT))
    check_equal(instance("pg")["verdict"], "ready", "it is ready")
    check_postgresql(VERSION, 64 * MIB, {0})
    started, initialized = active_since("hugeplan.service"), active_since("sysinit.target")
    check(0 < started < initialized, "its pages were reserved early in the boot", (started, initialized))
    active = wait_for(lambda: unit("hugeplan-check.service") == "active")
    check(active, "and after it all instances were checked", unit("hugeplan-check.service"))
    warned = messages("--priority=warning", "-u", "hugeplan*")
    others = [line for line in warned if "Read-only file system" not in line]
    check(warned and not others, "the only warnings are that nothing can be stored", warned)
    found = {one["id"] for one in hugeplan("check")["problems"]}
    check_equal(found, {"boot-uncounted"}, "check finds only that")


def too_late() -> None:
    check_equal(drop_in(UNIT), "", "merged after the generators have run, there is no gate")
    found = [one["remedy"] for one in hugeplan("check")["problems"] if one["id"] == "dropin-missing"]
    check(len(found) == 1 and "daemon-reload" in found[0] and "extension" in found[0], "check has the remedy", found)
    systemctl("daemon-reload")
    check("hugeplanctl wait pg" in drop_in(UNIT), "a daemon-reload adds the gate in this boot", drop_in(UNIT))
    systemctl(f"restart {UNIT}")
    check_postgresql(VERSION, 64 * MIB, {0})


SCENARIO = Scenario(
    nodes=(Node("2G"),),
    suites=(),
    more_suites=("forky",),
    files={
        **postgresql_files(VERSION, "64MB"),
        "/etc/hugeplan.d/20-pg.conf": f"[Instance]\nEngine=postgresql\nUnit={UNIT}\nMemory=64M\n",
        "/vm/init": (0o755, INIT),
    },
    boots=(
        Boot(moved),
        Boot(reserved, kernel_args="init=/vm/init hugeplan_vm.merge"),
        Boot(reserved, kernel_args="init=/vm/init", enable=MERGING),
        Boot(too_late, kernel_args="init=/vm/init", files={path: SILENT_RELEASE for path in RELEASE_FILES.values()}),
    ),
)
