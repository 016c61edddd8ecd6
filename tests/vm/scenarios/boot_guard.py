# SPDX-License-Identifier: LGPL-2.1-or-later
"""After three failed boots hugeplan reserves only what the last good boot had, so that a plan cannot keep the host from
booting. In rescue mode it reserves nothing."""

from pathlib import Path

from guestlib import *
from scenario import EARLY_TARGET, Boot, Node, Scenario

OLD, NEW = 30, 50
COUNTED = Path("/etc/hugeplan.d/.boots")
PROVEN = Path("/etc/hugeplan.d/.proven")
FILLER = Path("/filler")

# The boot ends early, without a sync. The kernel command line says when: as soon as the first page is reserved, or after
# all of them.
LAST_WORDS = "hugeplan-vm: dead"
DEATH = """\
[Unit]
DefaultDependencies=no
ConditionKernelCommandLine=hugeplan_vm.die={when}
{order}
[Service]
Type=oneshot
StandardOutput=tty
TTYPath=/dev/console
ExecStart=/bin/sh -c 'until read pages </sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages && [ $$pages -gt 0 ]; do :; done; echo {words}; echo b >/proc/sysrq-trigger'
[Install]
WantedBy=sysinit.target
"""


def death(when: str, order: str) -> str:
    return DEATH.format(when=when, order=order, words=LAST_WORDS)


def good() -> None:
    check_equal(instance("old")["verdict"], "ready", "good boot: old is ready")
    noted = wait_for(lambda: failed_boots() == 0, 30)
    check(noted, "good boot: no failed boot is counted", unit("hugeplan-check.service"))
    check_equal(proven(), {"old": OLD}, "good boot: its pages are stored as proven")
    Path("/etc/hugeplan.d/20-new.conf").write_text(f"[Instance]\nPages={NEW}\n")
    # From here on all boots are counted on a full disk.
    nearly_all = int(output("df --output=avail -B1M / | tail -1")) - 8
    sh(f"fallocate -l {nearly_all}M {FILLER}; dd if=/dev/zero bs=4k oflag=append conv=notrunc of={FILLER}; sync")
    left = output("df --output=avail / | tail -1")
    check_equal(int(left), 0, "good boot: then the disk is filled")


def stuck(number: int) -> None:
    check_equal(unit("multi-user.target"), "inactive", f"failed boot {number}: it gets stuck")
    check_equal(failed_boots(), number, f"failed boot {number}: the boot is counted")
    check_equal(sum(pools().values()), OLD + NEW, f"failed boot {number}: all pages are reserved")
    check_equal(proven(), {"old": OLD}, f"failed boot {number}: the proven pages are as before")


def guarded() -> None:
    counts = failed_boots()
    check(counts >= 3, "guarded: boots that ended early were counted", str(counts))
    check_equal(proven(), {"old": OLD}, "guarded: the proven pages are as before")
    check("boot-uncounted" not in output("hugeplanctl check || :"), "guarded: each boot was counted")
    check_equal(instance("old")["verdict"], "ready", "guarded: the proven instance is ready")
    new = instance("new")
    check_equal(new["verdict"], "refused", "guarded: the other instance is refused")
    check_equal(new["reasonId"], "boot-guard", "guarded: the reason is the boot guard")
    check_equal(sum(pools().values()), OLD, "guarded: the pool has the proven pages")
    problems = [one["id"] for one in status()["problems"]]
    check("boot-guard" in problems, "guarded: status has the problem boot-guard", problems)
    alerts = [one["MESSAGE"] for one in journal("--unit=hugeplan.service", "--priority=alert")]
    check(any("3 boots in a row" in one for one in alerts), "guarded: the log has an alert", alerts)
    succeeds("hugeplanctl reload", "guarded: reload")
    check_equal(instance("new")["verdict"], "ready", "guarded: after a reload the other instance is ready")
    check_equal(sum(pools().values()), OLD + NEW, "guarded: after a reload the pool has all pages")


def rescue() -> None:
    check_equal(sum(pools().values()), 0, "rescue: nothing is reserved")
    check_equal(unit("hugeplan.service"), "active", "rescue: hugeplan runs")
    succeeds("hugeplanctl reload", "rescue: reload")
    check_equal(sum(pools().values()), OLD + NEW, "rescue: a reload reserves all pages")
    boot = output("cat /proc/sys/kernel/random/boot_id")
    check(counted()[3] != boot, "rescue: this boot is not counted")


def counted() -> list[str]:
    """The words "boots", its version, how many have failed, the last boot."""
    return COUNTED.read_text().split()


def failed_boots() -> int:
    return int(counted()[2])


def proven() -> dict[str, int]:
    records = [line.split() for line in PROVEN.read_text().splitlines()]
    return {words[1]: int(words[3]) for words in records if words[0] == "instance"}


def fatal_boot(when: str) -> Boot:
    return Boot(guarded, kernel_args=f"hugeplan_vm.die={when}", last_words=LAST_WORDS)


SCENARIO = Scenario(
    more_suites=("forky",),
    nodes=(Node("1G"),),
    enable=("die-before.service", "die-after.service"),
    files={
        "/etc/hugeplan.d/10-old.conf": f"[Instance]\nPages={OLD}\n",
        "/etc/systemd/system/stuck.target": EARLY_TARGET,
        "/etc/systemd/system/die-before.service": death("before", "After=systemd-sysctl.service\nBefore=sysinit.target"),
        "/etc/systemd/system/die-after.service": death(
            "after", "After=hugeplan.service\nBefore=sysinit.target"
        ),
    },
    boots=(
        Boot(good),
        Boot(lambda: stuck(1), kernel_args="systemd.unit=stuck.target"),
        fatal_boot("before"),
        fatal_boot("after"),
        Boot(guarded),
        # systemd uses the last of these arguments and hugeplan the first, so that the checks can run.
        Boot(rescue, kernel_args="rescue systemd.unit=hugeplan-vm-test.target"),
    ),
)
