# SPDX-License-Identifier: LGPL-2.1-or-later
"""Databases for scenarios: the files that set one up, and checks that it works and uses huge pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from guestlib import *
from scenario import Content


# A program that the owner of a database may run in its unit. It reports a false size: LIAR INSTANCE PAGES TIMES.
LIAR = Path("/usr/local/bin/liar")
LIAR_TEXT = r"""
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("/run/hugeplan/org.hugeplan.Manager")
said = {"pages": [{"pageSizeBytes": 2 << 20, "pages": int(sys.argv[2])}], "exact": True}
call = {"method": "org.hugeplan.Manager.Wait",
        "parameters": {"instance": sys.argv[1], "timeoutUSec": 1000000, "learned": said}}
for _ in range(int(sys.argv[3])):
    s.sendall(json.dumps(call).encode() + bytes(1))
    s.recv(65536)
"""

def installed_postgresql() -> int:
    """The guest's version; for checks only, because a scenario's files are made before the boot."""
    return int(next(Path("/usr/lib/postgresql").iterdir()).name)


def postgresql_unit(version: int) -> str:
    return f"postgresql@{version}-main.service"


def postgresql() -> str:
    """The unit of the guest's cluster; for checks only."""
    return postgresql_unit(installed_postgresql())


def postgresql_files(version: int, shared_buffers: str) -> dict[str, Content]:
    """Debian's cluster, which is started at boot and fails without huge pages."""
    etc = f"/etc/postgresql/{version}/main"
    return {
        f"{etc}/start.conf": "auto\n",
        f"{etc}/conf.d/hugeplan-vm.conf": (
            f"huge_pages = on\nshared_buffers = {shared_buffers}\nfsync = off\n"
        ),
    }


def check_postgresql(
    version: int, shared_bytes: int, nodes: set[int], planned_page_bytes: int = DEFAULT_PAGE_BYTES
) -> None:
    """PostgreSQL runs, answers, and has its shared memory on huge pages of these nodes."""
    name = postgresql_unit(version)
    wait_for(lambda: unit(name) != "activating", 60)
    if not check_equal(unit(name), "active", "PostgreSQL runs"):
        return
    fill = "CREATE TABLE IF NOT EXISTS t AS SELECT n FROM generate_series(1, 50000) n"
    answer = sh(psql(f"{fill}; SELECT count(*) FROM t"))
    check(answer.stdout.split()[-1:] == ["50000"], "PostgreSQL answers a query", said(answer))
    pid = unit(name, "MainPID")
    found = hugetlb_mappings(pid)
    shared = [one for one in found if one.size >= shared_bytes]
    if check(shared, "PostgreSQL's shared memory is hugetlb", found):
        page_bytes = shared[0].page_bytes
        text = f"PostgreSQL's pages are of {planned_page_bytes // MIB} MiB"
        check_equal(page_bytes, planned_page_bytes, text)
        used = used_nodes(shared)
        check(used and used <= nodes, "PostgreSQL's pages lie on planned nodes", used)


@dataclass(frozen=True)
class Charged:
    """The pages of 2 MiB of a unit, as the kernel counts them for its control group."""

    used: dict[int, int]  # by node, without nodes that have none
    promised: int  # reserved, not touched yet


def charged(name: str) -> Charged:
    group = Path("/sys/fs/cgroup" + unit(name, "ControlGroup"))
    current, reserved = (
        int((group / f"hugetlb.2MB.{file}").read_text()) // DEFAULT_PAGE_BYTES
        for file in ("current", "rsvd.current")
    )
    nodes = re.findall(r"N(\d+)=(\d+)", (group / "hugetlb.2MB.numa_stat").read_text().split("\n")[0])
    used = {int(node): int(size) // DEFAULT_PAGE_BYTES for node, size in nodes if int(size)}
    return Charged(used, reserved - current)


def mapped_pages(name: str) -> int:
    """The huge pages that the main process of a unit has mapped."""
    return sum(one.size for one in hugetlb_mappings(unit(name, "MainPID"))) // (DEFAULT_PAGE_BYTES)


def figure(name: str) -> int:
    """The pages granted to the instance, whose gate has just determined its size; 0 if it is not ready."""
    found = instance(name)
    return found["pagesGranted"] if found["verdict"] == "ready" else 0


def psql(statement: str) -> str:
    # Not Debian's /usr/bin/psql, which is a program in Perl.
    program = f"/usr/lib/postgresql/{installed_postgresql()}/bin/psql"
    return f'setpriv --reuid=postgres --regid=postgres --clear-groups {program} -XAtqc "{statement}"'


def filling(shared_buffers_mib: int) -> str:
    """Statements that make a table larger than PostgreSQL's buffers: a row for each block, none of it in the
    write-ahead log."""
    rows = shared_buffers_mib * MIB // 8192 + 1000
    return (
        "CREATE UNLOGGED TABLE big (filler text); ALTER TABLE big ALTER filler SET STORAGE PLAIN; "
        f"INSERT INTO big SELECT repeat('x', 8000) FROM generate_series(1, {rows})"
    )


def drop_in(name: str) -> str:
    """The drop-in that hugeplan's generator wrote for a unit; "" if it wrote none."""
    try:
        return Path(f"/run/systemd/generator/{name}.d/10-hugeplan.conf").read_text()
    except FileNotFoundError:  # also while systemd reads its units
        return ""
