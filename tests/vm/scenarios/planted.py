# SPDX-License-Identifier: LGPL-2.1-or-later
"""A unit whose environment is its database's: what the loader does in it, it does as that user.

Environment=LD_LIBRARY_PATH=... is usual for Oracle, in a directory that Oracle owns; a library planted there
was run as root, for "+" drops User= and not the environment. Here the loader itself tells: with LD_DEBUG
it writes a file for each program that is started in the unit, as whoever that program is."""

import json
import re
import shutil
import tempfile
from pathlib import Path

from guestlib import *
from memory import CONFIG, configure
from scenario import Boot, Node, Scenario

UNIT = "planted.service"
STATE = Path("/var/lib/planted")
LEARNED = CONFIG / "20-planted.conf.d/90-learned.conf"
OWN_CONFIG = Path("/etc/planted/my.cnf")
# As hugepland(8) has it, SECURITY; and what systemd has for every service since 254, MemoryPressureWatch=.
WRITABLE = {
    "/sys/devices/system/node", "/sys/kernel/mm/hugepages", "/sys/kernel/mm/transparent_hugepage",
    "/sys/fs/cgroup/memory.reclaim", "/sys/fs/cgroup/system.slice/hugeplan.service/memory.pressure",
    "/proc/sys/kernel/shmmax", "/proc/sys/kernel/shmall",
    *(f"/proc/sys/vm/{name}" for name in ("min_free_kbytes", "compact_memory", "drop_caches", "hugetlb_shm_group")),
}


def options(mib: int) -> str:
    return f"[mysqld]\nlarge-pages\ninnodb_buffer_pool_size={mib}M\ndatadir={STATE}\n"


def loaded() -> dict[Path, str]:
    """What the loader wrote, by file."""
    return {path: path.read_text() for path in STATE.glob("ld.*")}


def owners() -> set[str]:
    return {path.owner() for path in STATE.glob("ld.*")}


def learned_pages() -> int:
    found = re.search(r"^Pages=2M:(\d+)$", LEARNED.read_text(), re.M) if LEARNED.exists() else None
    return int(found[1]) if found else 0


def asked() -> list[str]:
    """What the gate says, and hugepland of what it has heard."""
    return messages("-u", UNIT) + [line for line in messages("-u", "hugeplan.service") if "planted: " in line]


def restart(what: str) -> None:
    systemctl(f"restart {UNIT}", what)


def nobody_becomes_root() -> None:
    drop_in = Path(f"/run/systemd/generator/{UNIT}.d/10-hugeplan.conf").read_text()
    check(not re.search(r"^Exec\w+=[-@:]*[+!]", drop_in, re.M), "no line runs as root", drop_in)
    check("hugeplan-ask@" not in drop_in, "nothing of ours runs beside it", drop_in)
    check_equal(unit(UNIT), "active", "it runs")
    gates = [path for path, text in loaded().items() if "hugeplanctl" in text]
    check(len(gates) >= 2, "both gates ran in its environment", loaded().keys())
    check_equal(owners(), {"nobody"}, "and as its user, like all else there")

    first = learned_pages()
    check(first > 32, "its size was learned all the same", asked())
    check_equal(instance("planted")["verdict"], "ready", "it has its pages")
    check(any("learned its size:" in line for line in asked()), "the log tells", asked())
    check_equal(output(f"stat -c %U {LEARNED}").strip(), "root", "what was learned is root's")

    OWN_CONFIG.write_text(options(128))
    restart("raised: it starts")
    check(wait_for(lambda: learned_pages() > first + 16, 10), "raised: it was asked before the start", asked())
    check(sum(pools().values()) >= learned_pages() + 5, "raised: and has its pages", pools())
    check_equal(owners(), {"nobody"}, "raised: nothing else ran")


def sandboxed() -> None:
    """The gate is in the unit's own sandbox, and finds the size out and says it from there; where it cannot
    reach the daemon it says why, and goes by the files."""
    override = Path(f"/run/systemd/system/{UNIT}.d/99-sandbox.conf")
    override.parent.mkdir(parents=True, exist_ok=True)
    slash = Path("/run/slash")
    slash.mkdir()
    output(f"mount --bind / {slash}")
    rooted = f"RootDirectory={slash}\nMountAPIVFS=yes\nBindPaths=/run/hugeplan\n"
    for i, (what, lines) in enumerate((
        ("strict", "ProtectSystem=strict\nProtectHome=yes\nPrivateTmp=yes\nPrivateDevices=yes\n"),
        ("hardened", "PrivateUsers=yes\nNoNewPrivileges=yes\nProtectProc=invisible\nPrivateNetwork=yes\n"
                     "RestrictAddressFamilies=AF_UNIX\nSystemCallFilter=@system-service\nProtectControlGroups=yes\n"
                     "MemoryDenyWriteExecute=yes\nLimitNPROC=64\n"),
        ("dynamic", "DynamicUser=yes\nUser=\n"),
        ("rooted", rooted),
    )):
        known = learned_pages()
        OWN_CONFIG.write_text(options(96 + 32 * (i % 2)))
        override.write_text(f"[Service]\nEnvironment=\n{lines}")
        output("systemctl daemon-reload")
        restart(f"{what}: it starts")
        check(wait_for(lambda known=known: learned_pages() != known, 10), f"{what}: it was asked", asked()[-20:])
    known = learned_pages()
    override.write_text("[Service]\nRestrictAddressFamilies=AF_INET AF_INET6\n")
    output("systemctl daemon-reload")
    restart("cut off: it starts")
    check(any("AF_UNIX" in line for line in messages("-u", UNIT)), "cut off: the gate says why",
          messages("-u", UNIT)[-20:])
    found = [one["id"] for one in json.loads(output("hugeplanctl --json=short check || true"))["problems"]]
    check("gate-cut-off" in found, "cut off: so does check", found)
    check_equal(learned_pages(), known, "cut off: nothing is kept")
    override.unlink()
    OWN_CONFIG.write_text(options(64))
    output(f"systemctl daemon-reload; umount {slash}")
    restart("as before: it starts")


def whose() -> None:
    """No User= tells whose it is: who asks finds out."""
    options_file, instance_text = Path("/etc/owned/my.cnf"), (
        "[Instance]\nEngine=mariadb\nUnit=owned.service\nConfigFile=/etc/owned/my.cnf\n")
    figure = CONFIG / "40-owned.conf.d/90-learned.conf"
    Path("/etc/systemd/system/owned.service").write_text("[Service]\nExecStart=/bin/sleep infinity\n")
    options_file.parent.mkdir()
    options_file.write_text(options(64))
    options_file.chmod(0o600)
    shutil.chown(options_file, "games", "games")
    configure("40-owned", instance_text)
    output("systemctl daemon-reload && hugeplanctl reload")
    first = figure.read_text()
    check("Pages=2M:" in first, "whose: reload, as root, finds the owner", first)
    options_file.write_text(options(128))
    output("systemctl start owned.service")
    check(wait_for(lambda: figure.read_text() != first, 10),
          "whose: the gate, which is root here, becomes the owner", messages("-u", "owned.service"))
    output("systemctl stop owned.service")
    # Of a unit that runs as somebody else, the gate cannot.
    second = figure.read_text()
    user = Path("/run/systemd/system/owned.service.d/user.conf")
    user.parent.mkdir(parents=True, exist_ok=True)
    user.write_text("[Service]\nUser=man\n")
    configure("40-owned", f"{instance_text}User=games\n")
    options_file.write_text(options(64))
    output("systemctl daemon-reload && hugeplanctl reload && systemctl start owned.service")
    said_so = messages("-u", "owned.service")
    check(any("it belongs to games" in line and "User=" in line for line in said_so),
          "whose: somebody else says whose it is", said_so)
    check_equal(figure.read_text(), second, "whose: and nothing is learned")
    output("systemctl stop owned.service && hugeplanctl learn owned")
    check(figure.read_text() != second, "whose: by hand, as root, it is", figure.read_text())
    output("systemctl stop owned.service")


def exposed(texts: dict[str, str], most: int) -> None:
    """By systemd-analyze, of units with such texts: all at once, for that takes seconds in a guest."""
    with tempfile.TemporaryDirectory() as name:
        for unit_name, text in texts.items():
            (Path(name) / unit_name).write_text(text)
        done = sh(f"systemd-analyze security --no-pager --offline=yes --threshold={most} {name}/*")
    check(done.returncode == 0, f"{len(texts)} units are exposed by {most / 10} or less", said(done)[-200:])


def little_is_writable() -> None:
    """Of what the kernel has below /proc and /sys, to hugepland: the last mount of a place counts."""
    mounts = Path("/proc", unit("hugeplan.service", "MainPID"), "mountinfo").read_text().splitlines()
    options = {fields[4]: fields[5].split(",") for fields in (line.split() for line in mounts)}
    found = {place for place, words in options.items() if place.startswith(("/proc", "/sys")) and "rw" in words}
    check_equal({"/proc", "/sys"} - found, {"/proc", "/sys"}, "it has both read-only")
    check(found <= WRITABLE, "and nothing of them can be written but what it is for", found - WRITABLE)
    check({"/sys/kernel/mm/hugepages", "/proc/sys/vm/drop_caches"} <= found, "that can", found)


def planted() -> None:
    # Each unit of ours. One starts early, and has other lines in place of some that are rated (docs/privilege.md):
    # before 255 in place of PrivateDevices=, too.
    texts = {path.name: path.read_text() for path in Path("/usr/lib/systemd/system").glob("hugeplan*.service")}
    check(len(texts) >= 5, "all units are there", texts.keys())
    # Of one that is neither root's nor has a capability there is nothing to be confined.
    texts = {name: text for name, text in texts.items() if "\nUser=" not in text or "AmbientCapabilities=" in text}
    other = "InaccessiblePaths=/dev\n"
    old = {name: text for name, text in texts.items() if other in text}
    check(old.keys() in ({}.keys(), {"hugeplan.service"}), "one starts early, or none", old.keys())
    early = texts.pop("hugeplan.service")
    exposed(texts, 8)
    exposed({"hugeplan.service": early.replace(other, "PrivateDevices=yes\n")}, 13)
    if old:
        exposed(old, 15)
    little_is_writable()
    nobody_becomes_root()
    # Restart= asks again: its job wants what a start does.
    before = len([line for line in asked() if "learned" in line])
    OWN_CONFIG.write_text(options(64))
    output(f"systemctl kill -s KILL {UNIT}")
    check(wait_for(lambda: len([line for line in asked() if "learned" in line]) > before, 120),
          "started anew by systemd, it was asked anew", asked())
    check(wait_for(lambda: unit(UNIT) == "active", 60), "and runs again", unit(UNIT))
    sandboxed()
    whose()


SCENARIO = Scenario(
    nodes=(Node("1G"),),
    suites=("bookworm",),
    more_suites=("trixie",),
    files={
        "/etc/hugeplan.d/20-planted.conf": (
            f"[Instance]\nEngine=mariadb\nUnit={UNIT}\nConfigFile={OWN_CONFIG}\n"
        ),
        "/etc/hugeplan.d/30-beside.conf": f"[Instance]\nPages=5\nUnit={UNIT}\n",
        str(OWN_CONFIG): options(64),
        f"/etc/systemd/system/{UNIT}": f"""\
[Service]
User=nobody
StateDirectory=planted
Environment=LD_LIBRARY_PATH={STATE} LD_DEBUG=libs LD_DEBUG_OUTPUT={STATE}/ld
ExecStart=/bin/sleep infinity
Restart=on-failure
RestartSec=1s

[Install]
WantedBy=multi-user.target
""",
    },
    enable=(UNIT,),
    boots=(Boot(planted, limit_sec=900),),
)
