# SPDX-License-Identifier: LGPL-2.1-or-later
"""Patroni with etcd restarts PostgreSQL without a start of a unit. Before, the wrapper in place of postgres has hugeplan
learn the new size. A size that cannot be had is refused, and the log says so."""

import re
from pathlib import Path

from databases import charged, installed_postgresql, psql
from guestlib import *
from memory import CONFIG, configure
from scenario import Boot, Node, Scenario

DATA = Path("/var/lib/postgresql/patroni")
PROGRAMS = Path("/usr/local/lib/hugeplan")
PATRONI = "patroni.service"
SHARED = 128  # MiB
FEW, MANY = 1500, 2500  # connections

SETTINGS = f"""\
scope: hosts
name: one
restapi: {{listen: "127.0.0.1:8008", connect_address: "127.0.0.1:8008"}}
etcd3: {{host: "127.0.0.1:2379"}}
bootstrap:
  dcs:
    ttl: 120
    loop_wait: 5
    retry_timeout: 50
    postgresql:
      parameters: {{max_connections: {FEW}, shared_buffers: {SHARED}MB, huge_pages: "try"}}
  initdb: [{{encoding: UTF8}}, data-checksums]
postgresql:
  listen: "127.0.0.1:5432"
  connect_address: "127.0.0.1:5432"
  data_dir: {DATA}
  bin_dir: {PROGRAMS}
  parameters: {{unix_socket_directories: /var/run/postgresql, fsync: "off"}}
  authentication:
    superuser: {{username: postgres, password: secret}}
    replication: {{username: copy, password: secret}}
"""


def patronictl(verb: str) -> str:
    return output(f"patronictl -c /etc/patroni/config.yml {verb}", timeout_sec=150)


def postmaster() -> str:
    """The process of PostgreSQL; "" while it does not answer."""
    if sh(psql("SELECT 1")).stdout.strip() != "1":
        return ""
    return (DATA / "postmaster.pid").read_text().split()[0]


def connections() -> str:
    return sh(psql("SHOW max_connections")).stdout.strip()


def programs() -> str:
    return f"/usr/lib/postgresql/{installed_postgresql()}/bin"


def begins() -> bool:
    """Patroni makes a cluster without huge pages; then it is described."""
    Path("/etc/patroni/config.yml").write_text(SETTINGS)
    output(f"chown postgres: /etc/patroni/config.yml && install -d -o postgres -m 0700 {DATA}")
    output(f"mkdir -p {PROGRAMS} && ln -s {programs()}/* {PROGRAMS}")
    output("systemctl start etcd.service patroni.service", timeout_sec=120)
    if not check(wait_for(postmaster, 240), "Patroni makes a cluster", said_by_patroni()[-20:]):
        return False
    wait_for(lambda: connections() == str(FEW), 60)
    # As in the manual: the wrapper replaces one of the links.
    wrapper = Path("/usr/share/doc/hugeplan/examples/postgres").read_text()
    (PROGRAMS / "postgres").unlink()
    wrapper = re.sub(r"(?m)^server=.*", f"server={programs()}/postgres", wrapper)
    (PROGRAMS / "postgres").write_text(wrapper.replace("\npatroni=no\n", "\npatroni=yes\n"))
    (PROGRAMS / "postgres").chmod(0o755)
    configure("20-pg-main", "[Instance]\nEngine=postgresql\nIsolate=yes\n"
                            f"Unit={PATRONI}\nDataDirectory={DATA}\n")
    configure("30-neighbour", "[Instance]\nPages=50\nUnit=neighbour.service\n")
    output("systemctl daemon-reload && hugeplanctl reload", timeout_sec=120)
    patronictl("edit-config --force -q -p huge_pages=on")
    succeeds(f"systemctl restart {PATRONI}", "Patroni starts behind its gate", timeout_sec=180)
    return check(wait_for(postmaster, 200), "and PostgreSQL on huge pages", said_by_patroni()[-20:])


def learned() -> int:
    text = (CONFIG / "20-pg-main.conf.d/90-learned.conf").read_text()
    found = re.search(r"^Pages=2M:(\d+)$", text, re.MULTILINE)
    check("X-Exact=yes" in text, "the server's own answer was learned", text)
    return int(found[1]) if found else 0


def check_pages(what: str) -> int:
    """PostgreSQL uses all pages of its instance; returns how many."""
    process = postmaster()
    shared = [one for one in hugetlb_mappings(process) if one.size >= SHARED * MIB]
    pages = learned()
    check(shared, f"{what}: PostgreSQL's shared memory is hugetlb", hugetlb_mappings(process))
    use = charged(PATRONI)
    check_equal(sum(use.used.values()) + use.promised, pages, f"{what}: it takes what was learned")
    check_equal(sum(pools().values()), pages + 50, f"{what}: and a neighbour's are there beside")
    check_equal((instance("pg-main")["verdict"], instance("neighbour")["verdict"]),
                ("ready", "ready"), f"{what}: the verdicts")
    group = Path("/sys/fs/cgroup" + unit(PATRONI, "ControlGroup"))
    check_equal(int((group / "hugetlb.2MB.rsvd.max").read_text()) // (2 * MIB), pages,
                f"{what}: it is kept to them")
    return pages


def said_by_patroni() -> list[str]:
    return messages("-u", PATRONI)


def restarts(what: str) -> None:
    done = sh("patronictl -c /etc/patroni/config.yml restart --force hosts", timeout_sec=150)
    check("restart" in done.stdout, f"{what}: Patroni is told to restart", said(done))


def raises(before: int) -> None:
    run, process = unit(PATRONI, "InvocationID"), postmaster()
    patronictl(f"edit-config --force -q -p max_connections={MANY}")
    wait_for(lambda: "Pending" in patronictl("list"), 60)
    restarts("raised")
    if not check(wait_for(lambda: connections() == str(MANY), 200), "raised: PostgreSQL runs with it",
                 said_by_patroni()[-20:]):
        return
    check_equal(unit(PATRONI, "InvocationID"), run, "raised: no unit was started")
    check(postmaster() != process, "raised: PostgreSQL was")
    check(check_pages("raised") > before + 20, "raised: it has more pages than before", before)


def asks_too_much() -> None:
    pages = learned()
    patronictl("edit-config --force -q -p shared_buffers=8GB")
    wait_for(lambda: "Pending" in patronictl("list"), 60)
    restarts("too much")
    told = lambda: [line for line in said_by_patroni() if "pg-main: refused" in line]  # noqa: E731
    check(wait_for(told, 200), "too much: the refusal is in Patroni's own log", said_by_patroni()[-20:])
    check(any(": it is " in line and "this host has " in line for line in told()),
          "too much: with figures", told()[-1:])
    check_equal(postmaster(), "", "too much: PostgreSQL does not start with small pages, nor without")
    check_equal(instance("neighbour")["verdict"], "ready", "too much: a neighbour keeps its pages")
    check(sum(pools().values()) >= pages + 50, "too much: what it had is still there", pools())
    patronictl(f"edit-config --force -q -p shared_buffers={SHARED}MB")
    check(wait_for(postmaster, 240), "taken back: Patroni starts it again by itself", said_by_patroni()[-20:])
    check_equal(check_pages("taken back"), pages, "taken back: with the pages of before")


def supervised() -> None:
    if not begins():
        return
    before = check_pages("at first")
    raises(before)
    # It goes by the age of the postmaster that it finds, however long the wrapper has waited.
    process = postmaster()
    output(f"systemctl kill --kill-whom=main --signal=KILL {PATRONI}")
    wait_for(lambda: unit(PATRONI) == "active" and "running" in sh(
        "patronictl -c /etc/patroni/config.yml list").stdout, 120)
    check_equal(postmaster(), process, "Patroni, killed and started again, knows its postmaster")
    asks_too_much()


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    suites=(),  # four minutes
    more_suites=("bookworm",),
    boots=(Boot(supervised, limit_sec=1500),),
)
