# SPDX-License-Identifier: LGPL-2.1-or-later
"""System V shared memory: hugeplan keeps the group, the kernel's limits and the limits of logins, for two owners. The
root file system becomes writable late. Then huge pages count against MemoryMax=, as with cgroup2 as systemd mounts it
from 259 on: a gate fails if a limit of its unit or of a slice is below the pages, with which the unit would hang."""

import os
import subprocess
from pathlib import Path
from typing import Any

from guestlib import *
from memory import PAGES, configure, pages_service, reload, reload_all
from scenario import SYMLINK, Boot, Node, Scenario

SIZES = {"one": 40, "two": 30, "masked": 10}  # in pages
OWNERS = {"one": "owner1", "two": "owner2", "masked": "owner1"}
LARGEST = 40 * 2 * MIB
# The sum of all sizes and an eighth, in pages of 4 KiB.
SHMALL = sum(SIZES.values()) * 2 * MIB * 9 // 8 // 4096
LOWERED = "/etc/sysctl.d/50-small.conf"
MASK = "/etc/systemd/system/masked.service.d/10-hugeplan.conf"
MASKED = [("gate-masked", "notice", MASK), ("unit-setting", "warning", "/etc/hugeplan.d/40-masked.conf")]
LOGIN_LIMITS = "/etc/security/limits.d/60-hugeplan.conf"
KERNEL = Path("/proc/sys/kernel")
GROUP = Path("/proc/sys/vm/hugetlb_shm_group")
HEAL_LIMIT_SEC = 20
HELD = 40  # pages, 80M, of each unit with a memory limit
LIMITED = "limited.service"


def segments() -> None:
    check_equal(unit("hugeplan.service", "NRestarts"), "0", "hugeplan waits for a writable root")
    done = sh(f"systemd-run --quiet --wait --pipe -p User=owner1 {PAGES} shm 4")
    refused = done.returncode != 0 and "shmget: Operation not permitted" in done.stderr
    check(refused, "without the drop-in its user gets no segment of huge pages", said(done))
    for name in ("one", "two"):
        check_equal(unit(f"{name}.service"), "active", f"{name} has its segment")
        check_equal(instance(name)["verdict"], "ready", f"{name} is ready")
        mapped = sum(one.size for one in hugetlb_mappings(pid(name)))
        check_equal(mapped, SIZES[name] * 2 * MIB, f"{name} has mapped its segment")
    both_are_members()
    admins_files_are_honoured()
    unknown_owner()
    what_systemd_has_loaded_is_told()
    limits_are_raised_and_kept()
    logins()
    restarted()
    configure("10-one", None)
    configure("40-masked", None)
    reload()
    wait_for(lambda: "owner1" not in Path(LOGIN_LIMITS).read_text())
    text = Path(LOGIN_LIMITS).read_text()
    check("owner2" in text and "owner1" not in text, "without instances of owner1: no limit for its logins", text)
    configure("20-two", None)
    reload()
    check(wait_for(lambda: not os.path.exists(LOGIN_LIMITS)), "without instances: no file with limits")
    output("systemctl stop one.service two.service")
    memory_limits()


def gid() -> int:
    return int(output("getent group hugetlb").split(":")[2])


def pid(name: str) -> str:
    return unit(f"{name}.service", "MainPID")


def both_are_members() -> None:
    check_equal(GROUP.read_text().strip(), str(gid()), "the kernel's group is hugetlb")
    for name in ("one", "two"):
        shown = unit(f"{name}.service", "SupplementaryGroups")
        check_equal(shown, "hugetlb", f"{name}'s unit has the group")
        fields = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{pid(name)}/status").read_text().splitlines()
        )
        check(str(gid()) in fields["Groups"].split(), f"{name}'s process has the group", fields["Groups"])
        owner = output(f"id -u {OWNERS[name]}")
        check_equal(fields["Uid"].split()[0], owner, f"{name}'s process runs as {OWNERS[name]}")
    check_equal(unit("one.service", "LimitMEMLOCK"), "infinity", "one may lock any amount of memory")


def admins_files_are_honoured() -> None:
    check_equal(unit("two.service", "LimitMEMLOCK"), str(64 * MIB), "the setting of systemctl edit is in effect")
    check_equal(unit("masked.service", "SupplementaryGroups"), "", "a masked drop-in is masked")
    check_equal(unit("masked.service", "ExecStartPre"), "", "a masked drop-in has no gate")
    done = sh("systemctl start masked.service")
    check(done.returncode != 0, "without the drop-in its unit gets no segment", said(done))
    check_equal(problems("dropin"), [], "the drop-in is no problem of status")
    told = [(one["id"], one["severity"], one["file"]) for one in in_effect()]
    check_equal(told, MASKED, "status says that the gate is masked, and which setting the unit needs")


def problems(family: str) -> list[dict[str, Any]]:
    return [one for one in status()["problems"] if one["id"].split("-")[0] == family]


def in_effect() -> list[dict[str, Any]]:
    """The problems of what systemd has in effect."""
    return problems("gate") + problems("unit")


def what_systemd_has_loaded_is_told() -> None:
    dropin = Path("/etc/systemd/system/two.service.d/zz.conf")
    dropin.write_text("# ours\n[Service]\nExecStartPre=\n")
    shown = in_effect()
    outdated = [one["text"] for one in shown if one["id"] == "unit-changed"]
    named = len(outdated) == 1 and "two.service" in outdated[0]
    check(named, "status says that systemd has not read a drop-in", shown)
    check("gate-missing" not in [one["id"] for one in shown], "the gate is still in effect", shown)
    output("systemctl daemon-reload")
    shown = in_effect()
    found = [one["text"] for one in shown if one["id"] == "gate-missing"]
    named = len(found) == 1 and "not in effect after" in found[0] and str(dropin) in found[0]
    check(named, "after a daemon-reload status names the drop-in that removes the gate", shown)
    check("unit-changed" not in [one["id"] for one in shown], "after a daemon-reload the unit is up to date", shown)
    found = {one["id"] for one in hugeplan("check")["problems"]}
    check("gate-missing" in found, "check finds that, too", found)
    dropin.unlink()
    output("systemctl daemon-reload")
    left = [(one["id"], one["severity"], one["file"]) for one in in_effect()]
    check_equal(left, MASKED, "without the drop-in the problem is gone")


def unknown_owner() -> None:
    verdict = instance("ghost")["verdict"]
    check_equal(verdict, "invalid", "an instance whose owner does not exist is invalid")
    told = [f"{one.get('file')}:{one.get('line')}" for one in status()["problems"]]
    check("/etc/hugeplan.d/50-ghost.conf:4" in told, "status names the line", status()["problems"])
    check_equal(sum(pools().values()), sum(SIZES.values()), "the others have their pages")
    configure("50-ghost", None)
    reload()


def kernel_limits() -> dict[str, int]:
    return {name: int((KERNEL / name).read_text()) for name in ("shmmax", "shmall")}


def limits_are_raised_and_kept() -> None:
    needed = {"shmmax": LARGEST, "shmall": SHMALL}
    check_equal(kernel_limits(), needed, "limits that sysctl.d had lowered are as high as needed")
    output("sysctl --system")
    wait_for(lambda: kernel_limits() == needed, HEAL_LIMIT_SEC)
    check_equal(kernel_limits(), needed, "limits that are lowered later are raised again")
    output("sysctl -w vm.hugetlb_shm_group=0")
    wait_for(lambda: GROUP.read_text().strip() == str(gid()), HEAL_LIMIT_SEC)
    check_equal(GROUP.read_text().strip(), str(gid()), "the group is restored, too")
    logged = [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]
    drifts = [text for text in logged if text.startswith("drift: ")]
    found = sh("hugeplanctl check").stdout
    for line, name in ((2, "shmmax"), (3, "shmall")):
        check(any(f"{name} is no longer" in one for one in drifts), f"the log says that {name} was lowered", logged)
        check(f"{LOWERED}:{line}" in found, f"check names the line that lowered {name}", found)
    higher = {name: 2 * value for name, value in needed.items()}
    for name, value in higher.items():
        output(f"sysctl -w kernel.{name}={value}")
    reload()
    check_equal(kernel_limits(), higher, "higher limits are not changed")


def logins() -> None:
    check(wait_for(lambda: os.path.exists(LOGIN_LIMITS)), "there is a file with limits for logins")
    # owner1 has two instances.
    for owner, pages in (("owner1", SIZES["one"] + SIZES["masked"]), ("owner2", SIZES["two"])):
        for kind in "SH":
            locked = sh(f"su - {owner} -c 'ulimit -{kind}l'")
            check_equal(locked.stdout.strip(), str(pages * 2048), f"{owner} logs in: ulimit -{kind}l")
    check_equal(oct(os.stat(LOGIN_LIMITS).st_mode & 0o777), "0o644", "everyone may read the file")


def restarted() -> None:
    before = {name: held(name) for name in ("one", "two")}
    systemctl("restart hugeplan.service", "hugeplan is restarted")
    check_equal({name: held(name) for name in before}, before, "the units have the same processes and pages")
    check_equal(sum(pools().values()), sum(SIZES.values()), "the pool is as before")
    check_equal(instance("one")["verdict"], "ready", "one is ready")


def held(name: str) -> tuple[str, list[tuple[int, dict[int, int]]]]:
    return pid(name), [(one.start, one.node_pages) for one in hugetlb_mappings(pid(name))]


def memory_limits() -> None:
    if output("uname -r").startswith("6.1."):
        skip("huge pages count against MemoryMax=", "kernels before 6.7 cannot count them")
        return
    limited_service("hold", "MemoryMax=50M\n")
    planned("")
    done = start()
    check(done.returncode == 0, "where huge pages do not count it starts", said(done))
    sh(f"systemctl stop {LIMITED}")
    options = "nsdelegate,memory_recursiveprot,memory_hugetlb_accounting"
    succeeds(f"mount -o remount,{options} /sys/fs/cgroup", "the kernel can count huge pages")

    check(start().returncode != 0, "a unit with MemoryMax= below its huge pages does not start")
    check(told(LIMITED, "limited: refused: MemoryMax= of limited.service is 50M", "alone are 80M"),
          "its gate has the unit and the figures")
    check("memory-max" in {one["id"] for one in hugeplan("check")["problems"]}, "check finds that, too")
    limited_service("hold", "Slice=small.slice\n")
    output("systemctl daemon-reload && systemctl set-property --runtime small.slice MemoryHigh=60M")
    check(start().returncode != 0, "a unit with such a MemoryHigh= of its slice does not start")
    check(told(LIMITED, "limited: refused: MemoryHigh= of small.slice is 60M"), "its gate names the slice")

    # Mapped, but not touched: a process that touches the pages would hang.
    limited_service("reserve", "Slice=small.slice\n")
    planned("Shortage=degrade\n")
    done = start()
    check(done.returncode == 0, "with Shortage=degrade it starts", said(done))
    check(told(LIMITED, "limited: degraded: MemoryHigh= of small.slice is 60M"), "its gate has a warning")
    sh(f"systemctl stop {LIMITED}")
    sh("systemctl set-property --runtime small.slice MemoryHigh=200M")
    limited_service("hold", "Slice=small.slice\n")
    planned("")
    done = start()
    check(done.returncode == 0, "with room for its pages it starts", said(done))
    check_equal(unit(LIMITED), "active", "it has its pages")
    limited_together()


def limited_together() -> None:
    """A limit has room for each of two units, but not for both."""
    path = Path("/etc/systemd/system/second.service")
    path.write_text(pages_service(f"hold {HELD}") + "Slice=small.slice\n")
    sh("systemctl set-property --runtime small.slice MemoryHigh=100M")
    configure("second", f"[Instance]\nUnit=second.service\nPages={HELD}\n")
    reload_all()
    check(sh("systemctl start second.service").returncode != 0, "the second unit of the slice does not start")
    text = "MemoryHigh= of small.slice is 100M, and the huge pages alone of"
    check(told("second.service", "second: refused:", text, "limited (80M)", "second (80M)"),
          "its gate has both figures")
    sh(f"systemctl stop {LIMITED}")
    systemctl("start second.service", "without the first unit it starts")


def planned(more: str) -> None:
    configure("limited", f"[Instance]\nUnit={LIMITED}\nPages={HELD}\n{more}")
    reload_all()  # for its gate, and the unit itself


def limited_service(verb: str, more: str) -> None:
    path = Path(f"/etc/systemd/system/{LIMITED}")
    path.write_text(pages_service(f"{verb} {HELD}") + more)


def start() -> subprocess.CompletedProcess[str]:
    return sh(f"systemctl start {LIMITED}", timeout_sec=120)


def service(name: str) -> str:
    wanted = f"User={OWNERS[name]}\n[Install]\nWantedBy=multi-user.target\n"
    return pages_service(f"shm {SIZES[name]}") + wanted


def described(name: str, more: str) -> str:
    return f"[Instance]\nUnit={name}.service\nPages={SIZES[name]}\nUser={OWNERS[name]}\n{more}\n"


SCENARIO = Scenario(
    suites=("trixie",),
    more_suites=("bookworm",),
    nodes=(Node("1G"),),
    files={
        "/etc/sysusers.d/hugeplan-vm.conf": ("u owner1 - - /tmp /bin/sh\nu owner2 - - /tmp /bin/sh\n"),
        LOWERED: "# another's idea\nkernel.shmmax = 1048576\nkernel.shmall = 256\n",
        "/etc/hugeplan.d/10-one.conf": described("one", "Engine=oracle"),
        "/etc/hugeplan.d/20-two.conf": described("two", "SharedMemory=sysv"),
        "/etc/hugeplan.d/40-masked.conf": described("masked", "SharedMemory=sysv"),
        "/etc/hugeplan.d/50-ghost.conf": "[Instance]\nPages=5\nSharedMemory=sysv\nUser=ghost\n",
        "/etc/systemd/system/systemd-remount-fs.service.d/slow.conf": (
            "[Service]\nExecStartPre=/bin/sleep 3\n"
        ),
        "/etc/systemd/system/two.service.d/override.conf": "[Service]\nLimitMEMLOCK=64M\n",
        MASK: (SYMLINK, "/dev/null"),
        **{f"/etc/systemd/system/{name}.service": service(name) for name in SIZES},
    },
    enable=("one.service", "two.service"),
    boots=(Boot(segments),),
)
