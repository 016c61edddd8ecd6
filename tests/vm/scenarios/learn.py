# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL without a size in its description: before each start the gate learns the size from the server, the
reservation grows with shared_buffers, and the next boot reserves the learned size early. The gate runs as the owner of
the database, who may report any size."""

import ctypes
import os
import re
import time
from pathlib import Path

from databases import LIAR, LIAR_TEXT, check_postgresql, drop_in, installed_postgresql, postgresql
from guestlib import *
from memory import CONFIG, configure, pools_witness, reload, witnessed
from scenario import Boot, Node, Scenario

LEARNED = CONFIG / "20-pg-main.conf.d/90-learned.conf"
KEPT = "hugeplan.service"  # logs what is learned
FIRST, RAISED = 192, 384  # MiB of shared_buffers


def etc() -> Path:
    return Path(f"/etc/postgresql/{installed_postgresql()}/main")


def set_shared_buffers(value: str) -> None:
    (etc() / "conf.d/hugeplan-vm.conf").write_text(
        f"huge_pages = on\nfsync = off\nshared_buffers = {value}\n"
    )


def own_word() -> int:
    """The server's own answer; the server has to be stopped."""
    program = f"/usr/lib/postgresql/{installed_postgresql()}/bin/postgres"
    return int(output(f"runuser -u postgres -- {program} -D {etc()} "
                      "-C shared_memory_size_in_huge_pages"))


def learned() -> int:
    """The pages that were learned; 0 for none."""
    text = LEARNED.read_text() if LEARNED.exists() else ""
    found = re.search(r"^Pages=2M:(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0


def counters_agree(pages: int, what: str) -> None:
    """The pool has the learned size, and PostgreSQL uses all of it."""
    check_equal(sum(pools().values()), pages, f"{what}: as many pages are in the pool")
    check_equal(taken_pages(), pages, f"{what}: PostgreSQL has all of them")
    check_equal(instance("pg-main")["verdict"], "ready", f"{what}: the instance is ready")


def learns() -> None:
    set_shared_buffers(f"{FIRST}MB")
    (etc() / "start.conf").write_text("auto\n")  # from the next boot on
    configure("20-pg-main", f"[Instance]\nEngine=postgresql\nUnit={postgresql()}\n")
    output("systemctl daemon-reload && systemctl restart hugeplan.service")
    check("Wants=hugeplan.service\n" in drop_in(postgresql()), "PostgreSQL has its gate", drop_in(postgresql()))
    check_equal(learned(), 0, "nothing is learned without a start")
    exact = own_word()
    systemctl(f"start {postgresql()}", "PostgreSQL starts")
    check(wait_for(lambda: learned() == exact, 10), "first start: the server's own answer is learned", learned())
    text = LEARNED.read_text()
    check("X-Exact=yes" in text, "first start: exact", text)
    shown = output("hugeplanctl explain pg-main")
    check(re.search(rf"shared_buffers.*{FIRST}MB.*hugeplan-vm.conf:3", shown), "first start: explain names file and line", shown)
    counters_agree(exact, "first start")
    check_postgresql(installed_postgresql(), FIRST * MIB, set(pools()))
    ours = output("systemctl list-units --plain --no-legend 'hugeplan*'").split()
    check(not any(name.startswith("hugeplan-ask@") for name in ours), "no unit of hugeplan queries the server", ours)
    check_equal((LEARNED.owner(), LEARNED.stat().st_mode & 0o777), ("root", 0o644), "the learned size belongs to root")
    check_equal(LEARNED.parent.stat().st_mode & 0o777, 0o755, "everyone may read it")
    grows(exact)
    says_what_he_likes()
    learns_while_it_runs()
    asked_though_given()
    pages = learned()
    systemctl(f"stop {postgresql()}", "it stops")
    for broken in ("nonsense", f"{RAISED}MB\nhuge_page_size = 1GB"):
        set_shared_buffers(broken)
        done = sh(f"systemctl start {postgresql()}", timeout_sec=120)
        check(done.returncode != 0, "broken: PostgreSQL itself does not start", said(done))
        named = f"hugeplan-vm.conf:{2 + len(broken.splitlines())}"
        check(told(postgresql(), "pg-main: its size is not known", named, f"it gets {pages} pages of 2M as before"),
              "broken: the last size stays in effect, and the log says so, with the line",
              messages("-u", postgresql())[-20:])
        check_equal((learned(), sum(pools().values())), (pages, pages), "broken: size and pool are unchanged")
        sh(f"systemctl reset-failed {postgresql()}")
    hangs()
    set_shared_buffers(f"{RAISED}MB")
    systemctl(f"start {postgresql()}", "corrected: PostgreSQL starts")
    counters_agree(pages, "corrected")


def hangs() -> None:
    """Another database's directory is on a file system that does not answer."""
    sh("modprobe fuse")
    fuse = os.open("/dev/fuse", os.O_RDWR)
    how = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
    check_equal(ctypes.CDLL(None).mount(b"silent", b"/mnt", b"fuse", 0, how), 0, "hangs: it is mounted")
    configure("60-away", "[Instance]\nEngine=postgresql\nUnit=away.service\nDataDirectory=/mnt/data\n")
    check(timed(reload)[1] < 30, "hangs: a reload does not wait for it")
    os.close(fuse)
    configure("60-away", None)
    reload()


def grows(before: int) -> None:
    set_shared_buffers(f"{RAISED}MB")
    systemctl(f"restart {postgresql()}", "raised: PostgreSQL starts")
    check(wait_for(lambda: learned() > before + 80, 10), "raised: more is learned", learned())
    raised = learned()
    check(told(KEPT, "learned", f"before it was {before} pages"), "raised: the log has the previous size")
    counters_agree(raised, "raised")
    n_learned = len([line for line in messages("-u", KEPT) if "learned its size:" in line])
    systemctl(f"stop {postgresql()}", "it stops")
    check_equal(own_word(), raised, "raised: the learned size is the server's answer")
    systemctl(f"start {postgresql()}", "it starts again")
    check_equal(len([line for line in messages("-u", KEPT) if "learned its size:" in line]), n_learned,
                "again: no size is learned")
    counters_agree(raised, "again")


def says_what_he_likes() -> None:
    """The owner reports sizes, by a line before the gate and from sessions: the first of a hundred reports within a start
    is accepted, and the gate's report is not."""
    pages, liar = learned(), f"{LIAR} pg-main"
    LIAR.write_text(LIAR_TEXT)
    override = Path(f"/run/systemd/system/{postgresql()}.d/05-owner.conf")
    override.parent.mkdir(parents=True, exist_ok=True)
    become = "+/usr/bin/setpriv --reuid=postgres --regid=postgres --clear-groups /usr/bin/python3"
    override.write_text(f"[Service]\nExecStartPre={become} {liar} {pages + 9} 100\n")
    output("systemctl daemon-reload")
    systemctl(f"restart {postgresql()}", "the owner says more: PostgreSQL starts")
    check(wait_for(lambda: learned() == pages + 9, 10), "the owner says more: that size is stored", learned())
    override.unlink()
    output(f"systemctl daemon-reload; systemctl restart {postgresql()}")
    check(wait_for(lambda: learned() == pages, 10), "the gate reports again", learned())
    for _ in range(3):
        output(f"runuser -u postgres -- /usr/bin/python3 {liar} 700 20")
    check_equal(learned(), pages, "reports from a session of the owner are not accepted")
    counters_agree(pages, "reports from a session")


def learns_while_it_runs() -> None:
    pages = learned()
    # The daemon has then stored what the running PostgreSQL has mapped, which takes some five seconds.
    wait_for(lambda: time.monotonic() > active_since(postgresql()) + 8)
    check(wait_for(lambda: f"X-Seen=2M:{pages}" in LEARNED.read_text()),
          "running: the mapped size is stored")
    LEARNED.unlink()
    done = succeeds("systemctl reload hugeplan.service", "running: it can be reloaded")
    check(learned() >= pages and "X-Exact=no" in LEARNED.read_text(), "running: the rule gives at least the mapped size",
          LEARNED.read_text())
    # As for PostgreSQL up to 14, which cannot be queried.
    check(f"X-Seen=2M:{pages}" in LEARNED.read_text(), "running: the size is that of the mapping", said(done))
    check("X-SeenExact=yes" in LEARNED.read_text(), "running: that size is exact",
          (LEARNED.read_text(), messages("-u", "hugeplan.service")[-8:]))
    counters_agree(pages, "running")
    shown = output("hugeplanctl explain pg-main")
    check(f"The running PostgreSQL has mapped {pages} pages of 2M\n" in shown, "running: explain has the mapped size", shown)
    # The settings may have been edited after the start, so the next start gets at least what they can take.
    check(f"In effect: {learned()} pages of 2M, by the rule" in shown, "running: the rule is in effect", shown)
    systemctl(f"restart {postgresql()}", "asked again: it starts")
    check(wait_for(lambda: learned() == pages, 10), "asked again: the server's answer is learned", learned())
    check("X-Running" not in LEARNED.read_text(), "asked again: the answer is of a stopped server", LEARNED.read_text())
    counters_agree(pages, "asked again")


def asked_though_given() -> None:
    pages = learned()
    described = (CONFIG / "20-pg-main.conf").read_text()
    configure("20-pg-main", f"{described}Memory={FIRST}M\n")
    output("systemctl daemon-reload")
    succeeds("hugeplanctl reload", "given: it can be reloaded")
    sh(f"systemctl restart {postgresql()}", timeout_sec=120)
    lines = messages("-u", postgresql())
    check(any("too small: PostgreSQL itself requires" in line and f"Pages=2M:{pages}" in line
              for line in lines), "given: the gate says that the size is too small, and the size that is required", lines[-10:])
    configure("20-pg-main", described)
    output("systemctl daemon-reload && hugeplanctl reload")
    sh(f"systemctl reset-failed {postgresql()}")
    systemctl(f"restart {postgresql()}", "not given: it starts")
    counters_agree(pages, "not given")


def remembers() -> None:
    pages = learned()
    seen = sum(witnessed())
    check_equal(seen, pages, "next boot: the learned size was reserved before sysinit.target")
    check_postgresql(installed_postgresql(), RAISED * MIB, set(pools()))
    counters_agree(pages, "next boot")
    check(not told(KEPT, "learned its"), "next boot: no size is learned")
    check(not told(postgresql(), "as before"), "next boot: the server could be queried")
    check_equal(unit("hugeplan.service", "NRestarts"), "0", "hugeplan started at the first try")


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    more_suites=("trixie",),
    # The pools at sysinit.target.
    files={"/etc/systemd/system/witness.service":
           pools_witness("After=hugeplan.service\nBefore=sysinit.target")},
    enable=("witness.service",),
    boots=(Boot(learns, limit_sec=900), Boot(remembers)),
)
