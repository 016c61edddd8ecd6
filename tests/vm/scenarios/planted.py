# SPDX-License-Identifier: LGPL-2.1-or-later
"""The owner of a database controls the environment of its unit, so no program of hugeplan runs as root in it.

Environment=LD_LIBRARY_PATH=... is usual for Oracle, with a directory that Oracle owns. A library planted there would run
as root in a line with "+", because "+" drops User= but not the environment. Here LD_DEBUG has the loader write a file for
each program that is started in the unit; the file belongs to the user of that program."""

import json
import re
from pathlib import Path

from guestlib import *
from memory import CONFIG
from scenario import Boot, Node, Scenario

UNIT = "planted.service"
STATE = Path("/var/lib/planted")
LEARNED = CONFIG / "20-planted.conf.d/90-learned.conf"
OWN_CONFIG = Path("/etc/planted/my.cnf")
# As in hugepland(8), SECURITY; and memory.pressure, which systemd makes writable for each service since 254.
WRITABLE = {
    "/sys/devices/system/node", "/sys/kernel/mm/hugepages", "/sys/kernel/mm/transparent_hugepage",
    "/sys/fs/cgroup/memory.reclaim", "/sys/fs/cgroup/hugeplan.service/memory.pressure",
    "/proc/sys/kernel/shmmax", "/proc/sys/kernel/shmall",
    *(f"/proc/sys/vm/{name}" for name in ("min_free_kbytes", "compact_memory", "drop_caches", "hugetlb_shm_group")),
}


def options(mib: int) -> str:
    return f"[mysqld]\nlarge-pages\ninnodb_buffer_pool_size={mib}M\ndatadir={STATE}\n"


def loaded() -> dict[Path, str]:
    """The files that the loader wrote, with their texts."""
    return {path: path.read_text() for path in STATE.glob("ld.*")}


def owners() -> set[str]:
    return {path.owner() for path in STATE.glob("ld.*")}


def learned_pages() -> int:
    found = re.search(r"^Pages=2M:(\d+)$", LEARNED.read_text(), re.M) if LEARNED.exists() else None
    return int(found[1]) if found else 0


def asked() -> list[str]:
    """The log of the gate, and hugepland's lines about the instance."""
    return messages("-u", UNIT) + [line for line in messages("-u", "hugeplan.service") if "planted: " in line]


def restart(what: str) -> None:
    systemctl(f"restart {UNIT}", what)


def nobody_becomes_root() -> None:
    drop_in = Path(f"/run/systemd/generator/{UNIT}.d/10-hugeplan.conf").read_text()
    check(not re.search(r"^Exec\w+=[-@:]*[+!]", drop_in, re.M), "no line runs as root", drop_in)
    check("hugeplan-ask@" not in drop_in, "no service of hugeplan runs beside it", drop_in)
    check_equal(unit(UNIT), "active", "the unit runs")
    gates = [path for path, text in loaded().items() if "hugeplanctl" in text]
    check(len(gates) >= 2, "both gates ran in the environment of the unit", loaded().keys())
    check_equal(owners(), {"nobody"}, "all programs of the unit ran as its user")

    first = learned_pages()
    check(first > 32, "the size is learned", asked())
    check_equal(instance("planted")["verdict"], "ready", "the instance has its pages")
    check(any("learned its size:" in line for line in asked()), "the log shows the learned size", asked())
    check_equal(output(f"stat -c %U {LEARNED}").strip(), "root", "the learned size belongs to root")

    OWN_CONFIG.write_text(options(128))
    restart("raised: it starts")
    check(wait_for(lambda: learned_pages() > first + 16, 10), "raised: the size is determined before the start", asked())
    check(sum(pools().values()) >= learned_pages() + 5, "raised: the unit has its pages", pools())
    check_equal(owners(), {"nobody"}, "raised: no program ran as another user")


def sandboxed() -> None:
    """The gate determines the size in the unit's own sandbox, and reports it from there. If it cannot reach the daemon
    it says why, and uses the kernel's files."""
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
        check(wait_for(lambda known=known: learned_pages() != known, 10), f"{what}: the size is learned", asked()[-20:])
    known = learned_pages()
    for line in (f"RootDirectory={slash}", "TemporaryFileSystem=/run", "SystemCallFilter=~socket:1", "RestrictAddressFamilies=none"):
        override.write_text(f"[Service]\n{line}\n")
        output("systemctl daemon-reload")
        restart(f"cut off by {line}: it starts")
        said = messages("-u", UNIT)[-20:]
        check(any("cannot be reached" in text for text in said[-4:]), "cut off: the gate says so", said)
        found = [one["id"] for one in json.loads(output("hugeplanctl --json=short check || true"))["problems"]]
        check("gate-cut-off" in found, "cut off: check has a finding", found)
    check(any("AF_UNIX" in text for text in said), "cut off: the gate says why", said)
    check_equal(learned_pages(), known, "cut off: the learned size is kept")
    override.unlink()
    OWN_CONFIG.write_text(options(64))
    output(f"systemctl daemon-reload; umount {slash}")
    restart("as before: it starts")


def little_is_writable() -> None:
    """hugepland can write to few places below /proc and /sys. The last mount of a place is in effect."""
    mounts = Path("/proc", unit("hugeplan.service", "MainPID"), "mountinfo").read_text().splitlines()
    options = {fields[4]: fields[5].split(",") for fields in (line.split() for line in mounts)}
    found = {place for place, words in options.items() if place.startswith(("/proc", "/sys")) and "rw" in words}
    check_equal({"/proc", "/sys"} - found, {"/proc", "/sys"}, "both are read-only for hugepland")
    check(found <= WRITABLE, "nothing below them is writable but what hugepland needs", found - WRITABLE)
    check({"/sys/kernel/mm/hugepages", "/proc/sys/vm/drop_caches"} <= found, "what hugepland needs is writable", found)


def planted() -> None:
    little_is_writable()
    nobody_becomes_root()
    # A restart by Restart= runs the gate again, like a start.
    before = len([line for line in asked() if "learned" in line])
    OWN_CONFIG.write_text(options(64))
    output(f"systemctl kill -s KILL {UNIT}")
    check(wait_for(lambda: len([line for line in asked() if "learned" in line]) > before, 120),
          "restarted by systemd: the size is determined again", asked())
    check(wait_for(lambda: unit(UNIT) == "active", 60), "restarted by systemd: the unit runs again", unit(UNIT))
    sandboxed()


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
