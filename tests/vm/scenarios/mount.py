# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mount=: a mount for one instance, which systemd mounts when the pages are reserved. The pages are earmarked, so no other
process can take them, and the gate counts them for the instance. A path that is in use already is left alone."""

from pathlib import Path

from guestlib import *
from memory import PAGES as PAGES_TOOL
from memory import configure, reload
from scenario import Boot, Node, Scenario

PAGES = 100  # of orders; all of them earmarked
NEIGHBOURS = 40
SIZE = PAGES * DEFAULT_PAGE_BYTES
ROOT = "PARTUUID=68756765-01 / ext4 defaults 0 0"  # the image's own line
PLACE = "/run/hugepages/orders"
MOUNT = "run-hugepages-orders.mount"

# Maps a file of the mount, touches the pages, and stays. Ended, it leaves the file.
MAPPER = f"""\
import mmap, os, signal, sys
path, pages = sys.argv[1], int(sys.argv[2])
file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
os.ftruncate(file, pages * {DEFAULT_PAGE_BYTES})
memory = mmap.mmap(file, pages * {DEFAULT_PAGE_BYTES})
for page in range(pages):
    memory[page * {DEFAULT_PAGE_BYTES}] = 1
signal.pause()
"""

ORDERS = f"""\
[Service]
User=daemon
ExecStart=/usr/bin/python3 /vm/mapper.py {PLACE}/segment {PAGES}
"""


def mounted_and_used() -> None:
    check_equal(unit(MOUNT), "active", "the mount is there after boot, though no unit was started")
    options = output(f"findmnt -n -o FS-OPTIONS {PLACE}").strip().split(",")
    for option in ("pagesize=2M", f"size={SIZE}", f"min_size={SIZE}", "mode=770", "uid=1"):
        check(option in options, f"the mount has {option}", options)
    flags = output(f"findmnt -n -o VFS-OPTIONS {PLACE}")
    check("nosuid" in flags and "nodev" in flags, "the mount has nosuid and nodev", flags)
    check_equal(unit("hugeplan-wait@orders.service", "Result"), "success", "its gate was passed")
    check(active_since(MOUNT) > active_since("hugeplan.service"), "it was mounted after hugeplan started")
    check_equal(sum(pools().values()), PAGES + NEIGHBOURS, "both instances have their pages")
    check_equal(instance("orders")["verdict"], "ready", "orders is ready")
    check(as_user("daemon", f"touch {PLACE}/x && rm {PLACE}/x"), "its owner can make files there")
    check(not as_user("games", f"touch {PLACE}/y"), "another user cannot make files there")
    check(not as_user("games", f"ls {PLACE}"), "another user cannot list the files")
    check_equal(promised(), PAGES, "its pages are reserved while no process maps any")
    check_equal(free(), PAGES + NEIGHBOURS, "its pages are free")
    greedy = sh(f"timeout 5 {PAGES_TOOL} hold {NEIGHBOURS + 1}")
    check(greedy.returncode != 0, "another process cannot have its pages", said(greedy))
    started = sh("systemctl start orders.service")
    check(started.returncode == 0, "the gate counts the earmarked pages for the instance", said(started))
    check_equal(sum(pools().values()), PAGES + NEIGHBOURS, "the start reserves no more pages")
    touched = wait_for(lambda: promised() == 0, 60)
    check(touched, "pages that are touched are no longer counted as reserved", meminfo())
    pid = unit("orders.service", "MainPID")
    mapped = sum(one.size for one in hugetlb_mappings(pid))
    check_equal(mapped, SIZE, "all its pages are mapped")
    check_equal(free(), NEIGHBOURS, "the pages of others are free")
    files_left_behind_are_its_own()
    a_restart_of_hugeplan_changes_nothing()
    places_that_are_taken()
    check_equal(instance("short")["verdict"], "refused", "short is refused")
    check_equal(unit("srv-short.mount"), "inactive", "short is not mounted")
    check_equal(promised(), PAGES, "short earmarks no page of others")
    changed_mount_is_told()
    check_verified(f"/run/systemd/generator.late/{MOUNT}", "orders.service")


def promised() -> int:
    return meminfo()["HugePages_Rsvd"]


def free() -> int:
    return meminfo()["HugePages_Free"]


def as_user(user: str, arguments: str) -> bool:
    return sh(f"setpriv --reuid={user} --regid={user} --clear-groups {arguments}").returncode == 0


def problems(problem_id: str) -> list[str]:
    return [one["text"] for one in status()["problems"] if one["id"] == problem_id]


def files_left_behind_are_its_own() -> None:
    output("systemctl stop orders.service")
    check_equal(free(), NEIGHBOURS, "the stopped unit has left a file with all its pages")
    started = sh("systemctl start orders.service")
    check(started.returncode == 0, "the unit starts with these pages again", said(started))
    check_equal(sum(pools().values()), PAGES + NEIGHBOURS, "this start reserves no more pages")
    output("systemctl stop orders.service")
    output(f"systemd-run --unit=neighbour {PAGES_TOOL} reserve 30")
    started = sh("systemctl start orders.service")
    check(started.returncode == 0, "also beside an unknown process that has reserved pages", said(started))
    # The kernel does not tell whether these pages are the file's.
    check(sum(pools().values()) <= PAGES + NEIGHBOURS + 30, "with at most as many more in the pools", pools())
    output("systemctl stop orders.service neighbour.service")
    check(wait_for(lambda: sum(pools().values()) == PAGES + NEIGHBOURS, 60), "which are given back then", pools())
    output(f"rm {PLACE}/segment")
    check_equal(promised(), PAGES, "without the file, they are earmarked again")
    alone = sh("systemctl stop hugeplan.socket hugeplan.service; systemctl start orders.service")
    check(alone.returncode == 0, "the gate sees the same without the daemon", said(alone))
    output("systemctl start hugeplan.socket hugeplan.service")


def a_restart_of_hugeplan_changes_nothing() -> None:
    pid = unit("orders.service", "MainPID")
    output("systemctl restart hugeplan.service && systemctl daemon-reload")
    check_equal(unit("orders.service", "MainPID"), pid, "hugeplan restarted, it runs on")
    check_equal(unit(MOUNT), "active", "and its mount stands")
    check_equal(problems("mount-outdated") + problems("dropin-missing"), [], "nothing is wrong")
    output(f"systemctl stop orders.service && rm {PLACE}/segment")


def places_that_are_taken() -> None:
    for name, why in (
        ("by-files", "the directory contains files"),
        ("by-tmpfs", "this unit mounts the same path"),
        ("by-unit", "this unit mounts the same path"),
    ):
        told = [one for one in problems("mount-taken") if f"mount of {name} " in one]
        check(any(why in one for one in told), f"{name}: status says that {why}", status()["problems"])
        check_equal(instance(name)["verdict"], "ready", f"{name} has its pages")
    check(not sh("findmnt /srv/files").stdout, "no mount hides the files")
    check_equal(Path("/srv/files/precious").read_text(), "x\n", "the files are unchanged")
    check_equal(output("findmnt -n -o FSTYPE /srv/tmpfs").split(), ["tmpfs"], "the mount of fstab is in effect")
    check_equal(unit("srv-unit.mount", "FragmentPath"), "/etc/systemd/system/srv-unit.mount",
                "the administrator's unit is in effect")
    check_equal(instance("no-owner")["verdict"], "invalid", "an owner that does not exist")
    check("nobody-has-it" in instance("no-owner")["reason"], "the reason names the owner", instance("no-owner"))


def changed_mount_is_told() -> None:
    configure("40-no-owner", None)  # a reload refuses mistakes
    configure("10-orders", config("min_size=100M"))
    reload()
    check(problems("dropin-missing"), "a changed Mount= needs a daemon-reload", status())
    output("systemctl daemon-reload")
    told = problems("mount-outdated")
    check(any(f"min_size={SIZE} instead of" in one for one in told), "after a daemon-reload the mount is outdated", told)
    output(f"systemctl restart {MOUNT}")
    check_equal(problems("mount-outdated"), [], "a restarted mount is up to date")
    check_equal(promised(), PAGES // 2, "half of its pages are earmarked")


def config(options: str) -> str:
    return (
        f"[Instance]\nUnit=orders.service\nPages={PAGES}\nPriority=90\nSharedMemory=hugetlbfs\n"
        f"Mount={PLACE} owner=daemon {options}\n"
    )


def taken(path: str) -> str:
    return f"[Instance]\nPages=1\nMount={path} owner=daemon\n"


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    suites=("trixie",),
    more_suites=("bookworm",),
    files={
        "/etc/hugeplan.d/10-orders.conf": config(f"min_size={SIZE}"),
        "/etc/hugeplan.d/20-neighbour.conf": f"[Instance]\nPages={NEIGHBOURS - 3}\n",
        "/etc/hugeplan.d/30-by-files.conf": taken("/srv/files"),
        "/etc/hugeplan.d/30-by-tmpfs.conf": taken("/srv/tmpfs"),
        "/etc/hugeplan.d/30-by-unit.conf": taken("/srv/unit"),
        "/etc/hugeplan.d/40-no-owner.conf": (
            "[Instance]\nPages=1\nMount=/srv/no-owner owner=nobody-has-it\n"
        ),
        "/etc/hugeplan.d/50-short.conf": (
            "[Instance]\nPages=100000\nPriority=10\nMount=/srv/short owner=daemon min_size=20M\n"
        ),
        "/etc/fstab": f"{ROOT}\ntmpfs /srv/tmpfs tmpfs size=1M 0 0\n",
        "/etc/systemd/system/srv-unit.mount": ("[Mount]\nWhat=tmpfs\nWhere=/srv/unit\nType=tmpfs\n"),
        "/srv/files/precious": "x\n",
        "/etc/systemd/system/orders.service": ORDERS,
        "/vm/mapper.py": MAPPER,
    },
    boots=(Boot(mounted_and_used),),
)
