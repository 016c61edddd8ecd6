# SPDX-License-Identifier: LGPL-2.1-or-later
"""System V users: the one group, the kernel's limits and those of logins, for two owners, kept. The
root file system becomes writable late."""

import os
from pathlib import Path
from typing import Any

from guestlib import *
from memory import PAGES, configure, pages_service, reload
from scenario import SYMLINK, Boot, Node, Scenario

SIZES = {"one": 40, "two": 30, "masked": 10}  # in pages
OWNERS = {"one": "owner1", "two": "owner2", "masked": "owner1"}
LARGEST = 40 * 2 * MIB
# All of them and an eighth, in pages of 4 KiB.
SHMALL = sum(SIZES.values()) * 2 * MIB * 9 // 8 // 4096
LOWERED = "/etc/sysctl.d/50-small.conf"
MASK = "/etc/systemd/system/masked.service.d/10-hugeplan.conf"
MASKED = [("gate-masked", "notice", MASK), ("unit-setting", "warning", "/etc/hugeplan.d/40-masked.conf")]
LOGIN_LIMITS = "/etc/security/limits.d/60-hugeplan.conf"
KERNEL = Path("/proc/sys/kernel")
GROUP = Path("/proc/sys/vm/hugetlb_shm_group")
HEAL_LIMIT_SEC = 20


def segments() -> None:
    check_equal(unit("hugeplan.service", "NRestarts"), "0", "hugeplan waits for a writable root")
    # Only with the drop in.
    done = sh(f"systemd-run --quiet --wait --pipe -p User=owner1 {PAGES} shm 4")
    refused = done.returncode != 0 and "shmget: Operation not permitted" in done.stderr
    check(refused, "elsewhere its user gets no segment of huge pages", said(done))
    for name in ("one", "two"):
        check_equal(unit(f"{name}.service"), "active", f"{name} has its segment")
        check_equal(instance(name)["verdict"], "ready", f"{name} is ready")
        mapped = sum(one.sizes["Size"] for one in hugetlb_mappings(pid(name)))
        check_equal(mapped, SIZES[name] * 2 * MIB, f"{name} has all of it")
    both_are_members()
    admins_files_are_honoured()
    unknown_owner()
    what_systemd_has_loaded_is_told()
    limits_are_raised_and_kept()
    logins()
    restarted()
    # Logins without instances.
    configure("10-one", None)
    configure("40-masked", None)
    reload()
    wait_for(lambda: "owner1" not in Path(LOGIN_LIMITS).read_text())
    text = Path(LOGIN_LIMITS).read_text()
    check("owner2" in text and "owner1" not in text, "without instances: no limit", text)
    configure("20-two", None)
    reload()
    check(wait_for(lambda: not os.path.exists(LOGIN_LIMITS)), "without any: no file")


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
        check(str(gid()) in fields["Groups"].split(), f"and {name}'s process", fields["Groups"])
        owner = output(f"id -u {OWNERS[name]}")
        check_equal(fields["Uid"].split()[0], owner, f"which runs as {OWNERS[name]}")
    check_equal(unit("one.service", "LimitMEMLOCK"), "infinity", "one may lock what it wants")


def admins_files_are_honoured() -> None:
    check_equal(unit("two.service", "LimitMEMLOCK"), str(64 * MIB), "systemctl edit wins")
    check_equal(unit("masked.service", "SupplementaryGroups"), "", "a masked drop-in is masked")
    check_equal(unit("masked.service", "ExecStartPre"), "", "gate and all")
    done = sh("systemctl start masked.service")
    check(done.returncode != 0, "so its unit gets no segment", said(done))
    check_equal(problems("dropin"), [], "nobody complains about what the administrator wants")
    told = [(one["id"], one["severity"], one["file"]) for one in in_effect()]
    check_equal(told, MASKED, "but it is told, and what its unit cannot do without")


def problems(family: str) -> list[dict[str, Any]]:
    return [one for one in status()["problems"] if one["id"].split("-")[0] == family]


def in_effect() -> list[dict[str, Any]]:
    """What is told of what systemd has in effect."""
    return problems("gate") + problems("unit")


def what_systemd_has_loaded_is_told() -> None:
    dropin = Path("/etc/systemd/system/two.service.d/zz.conf")
    dropin.write_text("# ours\n[Service]\nExecStartPre=\n")
    shown = in_effect()
    outdated = [one["text"] for one in shown if one["id"] == "unit-changed"]
    named = len(outdated) == 1 and "two.service" in outdated[0]
    check(named, "a drop-in that systemd has not read is told", shown)
    check("gate-missing" not in [one["id"] for one in shown], "nothing comes of it so far", shown)
    output("systemctl daemon-reload")
    shown = in_effect()
    place = [(one["file"], one["line"], one["key"]) for one in shown if one["id"] == "gate-missing"]
    check_equal(place, [(str(dropin), 3, "ExecStartPre")], "then the gate is gone: by file and line")
    check("unit-changed" not in [one["id"] for one in shown], "and the unit as it is", shown)
    found = {one["id"] for one in hugeplan("check")["problems"]}
    check("gate-missing" in found, "check sees it, too", found)
    dropin.unlink()
    output("systemctl daemon-reload")
    left = [(one["id"], one["severity"], one["file"]) for one in in_effect()]
    check_equal(left, MASKED, "without that drop-in nothing is left of it")


def unknown_owner() -> None:
    verdict = instance("ghost")["verdict"]
    check_equal(verdict, "invalid", "who belongs to nobody is invalid")
    told = [f"{one.get('file')}:{one.get('line')}" for one in status()["problems"]]
    check("/etc/hugeplan.d/50-ghost.conf:4" in told, "by file and line", status()["problems"])
    check_equal(sum(pools().values()), sum(SIZES.values()), "the others have their pages")
    configure("50-ghost", None)
    reload()


def kernel_limits() -> dict[str, int]:
    return {name: int((KERNEL / name).read_text()) for name in ("shmmax", "shmall")}


def limits_are_raised_and_kept() -> None:
    needed = {"shmmax": LARGEST, "shmall": SHMALL}
    check_equal(kernel_limits(), needed, "what sysctl.d had lowered is raised as far as needed")
    output("sysctl --system")
    wait_for(lambda: kernel_limits() == needed, HEAL_LIMIT_SEC)
    check_equal(kernel_limits(), needed, "and again when it is lowered later")
    output("sysctl -w vm.hugetlb_shm_group=0")
    wait_for(lambda: GROUP.read_text().strip() == str(gid()), HEAL_LIMIT_SEC)
    check_equal(GROUP.read_text().strip(), str(gid()), "the group is put back, too")
    logged = [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]
    drifts = [text for text in logged if text.startswith("drift: ")]
    found = sh("hugeplanctl check").stdout
    for line, name in ((2, "shmmax"), (3, "shmall")):
        check(any(f"{name} is no longer" in one for one in drifts), f"{name} was lowered", logged)
        check(f"{LOWERED}:{line}" in found, f"who lowered {name}", found)
    higher = {name: 2 * value for name, value in needed.items()}
    for name, value in higher.items():
        output(f"sysctl -w kernel.{name}={value}")
    reload()
    check_equal(kernel_limits(), higher, "higher ones are left alone")


def logins() -> None:
    check(wait_for(lambda: os.path.exists(LOGIN_LIMITS)), "logins get their limits")
    # owner1 has two instances.
    for owner, pages in (("owner1", SIZES["one"] + SIZES["masked"]), ("owner2", SIZES["two"])):
        for kind in "SH":
            locked = sh(f"su - {owner} -c 'ulimit -{kind}l'")
            check_equal(locked.stdout.strip(), str(pages * 2048), f"{owner} logs in: -{kind}l, kB")
    check_equal(oct(os.stat(LOGIN_LIMITS).st_mode & 0o777), "0o644", "anybody may read the file")


def restarted() -> None:
    before = {name: held(name) for name in ("one", "two")}
    systemctl("restart hugeplan.service", "hugeplan is restarted")
    check_equal({name: held(name) for name in before}, before, "under units that do not notice")
    check_equal(sum(pools().values()), sum(SIZES.values()), "the pool is as it was")
    check_equal(instance("one")["verdict"], "ready", "and so is one")


def held(name: str) -> tuple[str, list[tuple[int, dict[int, int]]]]:
    return pid(name), [(one.start, one.node_pages) for one in hugetlb_mappings(pid(name))]


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
