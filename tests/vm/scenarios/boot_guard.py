# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plan that keeps the host from booting does not keep it for ever: after three boots that failed,
only what the last good one had is reserved. And in rescue mode nothing is."""

import json
from pathlib import Path

from guestlib import *
from scenario import Boot, Node, Scenario

OLD, NEW = 30, 50
COUNTED = Path("/etc/hugeplan.d/.boots")
PROVEN = Path("/etc/hugeplan.d/.proven.json")
RECORD_BYTES = 4096
FILLER = Path("/filler")

# The checks run in it, but multi-user.target is never reached: as in a boot that hangs half-way.
STUCK = """\
[Unit]
Requires=basic.target
Wants=hugeplan-vm-test.service
AllowIsolate=yes
"""


# A boot that dies early, without a sync, where the kernel's command line says when: as the first page is reserved, or
# right after all of them.
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
    check_equal(proven(), {"old": OLD}, "good boot: what it had is noted")
    Path("/etc/hugeplan.d/20-new.conf").write_text(f"[Instance]\nPages={NEW}\n")
    # All boots from here on are counted on a full disk.
    nearly_all = int(output("df --output=avail -B1M / | tail -1")) - 8
    sh(f"fallocate -l {nearly_all}M {FILLER}; dd if=/dev/zero bs=4k oflag=append conv=notrunc of={FILLER}; sync")
    left = output("df --output=avail / | tail -1")
    check_equal(int(left), 0, "good boot: then the disk is filled")


def stuck(number: int) -> None:
    check_equal(unit("multi-user.target"), "inactive", f"failed boot {number}: it gets stuck")
    check_equal(failed_boots(), number, f"failed boot {number}: is counted")
    check_equal(sum(pools().values()), OLD + NEW, f"failed boot {number}: all is planned")
    check_equal(proven(), {"old": OLD}, f"failed boot {number}: leaves what is proven")


def guarded() -> None:
    counts = failed_boots()
    check(counts >= 3, "guarded: boots that died early were counted", str(counts))
    check_equal(proven(), {"old": OLD}, "guarded: what was proven is still known")
    check("boot-uncounted" not in output("hugeplanctl check || :"), "guarded: each boot was counted")
    check_equal(instance("old")["verdict"], "ready", "guarded: what was proven is reserved")
    new = instance("new")
    check_equal(new["verdict"], "refused", "guarded: what was not is refused")
    check_equal(new["reasonId"], "boot-guard", "guarded: for that reason")
    check_equal(sum(pools().values()), OLD, "guarded: the kernel agrees")
    problems = [one["id"] for one in status()["problems"]]
    check("boot-guard" in problems, "guarded: status says so", problems)
    alerts = [one["MESSAGE"] for one in journal("--unit=hugeplan.service", "--priority=alert")]
    check(any("3 boots in a row" in one for one in alerts), "guarded: so does the log", alerts)
    succeeds("hugeplanctl reload", "guarded: reload")
    check_equal(instance("new")["verdict"], "ready", "guarded: has everything planned again")
    check_equal(sum(pools().values()), OLD + NEW, "guarded: and the kernel agrees")


def rescue() -> None:
    check_equal(sum(pools().values()), 0, "rescue: nothing is reserved")
    check_equal(unit("hugeplan.service"), "active", "rescue: hugeplan runs")
    succeeds("hugeplanctl reload", "rescue: reload")
    check_equal(sum(pools().values()), OLD + NEW, "rescue: reserves when asked to")
    boot = output("cat /proc/sys/kernel/random/boot_id")
    check(counted()[4] != boot, "rescue: this boot neither fails nor proves anything")


def counted() -> list[str]:
    """The newer record: "boots", its version, its number, how many have failed, the last boot."""
    text = COUNTED.read_text()
    return max((text[at:].split() for at in (0, RECORD_BYTES)), key=lambda words: int(words[2]))


def failed_boots() -> int:
    return int(counted()[3])


def proven() -> dict[str, int]:
    return {one["name"]: one["pages"] for one in json.loads(PROVEN.read_text())["proven"]}


def fatal_boot(when: str) -> Boot:
    return Boot(guarded, kernel_args=f"hugeplan_vm.die={when}", last_words=LAST_WORDS)


SCENARIO = Scenario(
    nodes=(Node("1G"),),
    enable=("die-before.service", "die-after.service"),
    files={
        "/etc/hugeplan.d/10-old.conf": f"[Instance]\nPages={OLD}\n",
        "/etc/systemd/system/stuck.target": STUCK,
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
        # systemd goes by the last word, hugeplan by the first: so the checks can run.
        Boot(rescue, kernel_args="rescue systemd.unit=hugeplan-vm-test.target"),
    ),
)
