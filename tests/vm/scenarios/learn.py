# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL with Memory=auto: before each start it is learned what the server itself says, the reservation
grows when shared_buffers is raised, and the next boot reserves early what was learned. Who asks is its gate,
which is the database's owner, who may say what he likes."""

import re
import time
from pathlib import Path

from databases import LIAR, LIAR_TEXT, check_postgresql, drop_in, installed_postgresql, postgresql
from guestlib import *
from memory import CONFIG, configure, pools_witness, witnessed
from scenario import Boot, Node, Scenario

LEARNED = CONFIG / "20-pg-main.conf.d/90-learned.conf"
KEPT = "hugeplan.service"  # which tells what was learned
FIRST, RAISED = 192, 384  # MiB of shared_buffers

FILES = {
    # What anything ordered after sysinit.target will find.
    "/etc/systemd/system/witness.service": pools_witness("After=hugeplan.service\nBefore=sysinit.target"),
    # Stands in for MongoDB, which Debian does not have.
    "/etc/systemd/system/mongod.service": """\
[Service]
Type=notify
NotifyAccess=all
ExecStart=/bin/sh -c 'cat /sys/kernel/mm/transparent_hugepage/enabled >/run/mongod-saw; \\
    systemd-notify --ready; exec sleep infinity'
""",
}


def etc() -> Path:
    return Path(f"/etc/postgresql/{installed_postgresql()}/main")


def set_shared_buffers(value: str) -> None:
    (etc() / "conf.d/hugeplan-vm.conf").write_text(
        f"huge_pages = on\nfsync = off\nshared_buffers = {value}\n"
    )


def own_word() -> int:
    """What the server itself says, which has to be down."""
    program = f"/usr/lib/postgresql/{installed_postgresql()}/bin/postgres"
    return int(output(f"runuser -u postgres -- {program} -D {etc()} "
                      "-C shared_memory_size_in_huge_pages"))


def learned() -> int:
    """The pages that were learned; 0 for none."""
    text = LEARNED.read_text() if LEARNED.exists() else ""
    found = re.search(r"^Pages=2M:(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0


def counters_agree(pages: int, what: str) -> None:
    """The pool is what was learned, and PostgreSQL has all of it."""
    check_equal(sum(pools().values()), pages, f"{what}: so many pages are reserved")
    check_equal(taken_pages(), pages, f"{what}: PostgreSQL takes them all")
    check_equal(instance("pg-main")["verdict"], "ready", f"{what}: the verdict")


def learns() -> None:
    set_shared_buffers(f"{FIRST}MB")
    (etc() / "start.conf").write_text("auto\n")  # from the next boot on
    configure("20-pg-main", f"[Instance]\nEngine=postgresql\nUnit={postgresql()}\n")
    output("systemctl daemon-reload && systemctl restart hugeplan.service")
    check("Wants=hugeplan.service\n" in drop_in(postgresql()), "it has its gate", drop_in(postgresql()))
    check_equal(learned(), 0, "nothing is learned without a start")
    exact = own_word()
    systemctl(f"start {postgresql()}", "PostgreSQL starts")
    check(wait_for(lambda: learned() == exact, 10), "first start: the server's own answer is learned", learned())
    text = LEARNED.read_text()
    check("X-Exact=yes" in text, "first start: exact", text)
    shown = output("hugeplanctl explain pg-main")
    check(re.search(rf"shared_buffers.*{FIRST}MB.*hugeplan-vm.conf:3", shown), "first start: with file and line", shown)
    counters_agree(exact, "first start")
    check_postgresql(installed_postgresql(), FIRST * MIB, set(pools()))
    # By nothing but the gate, within the database's unit.
    ours = output("systemctl list-units --plain --no-legend 'hugeplan*'").split()
    check(not any(name.startswith("hugeplan-ask@") for name in ours), "no unit of ours asks", ours)
    check_equal((LEARNED.owner(), LEARNED.stat().st_mode & 0o777), ("root", 0o644), "what was learned is root's")
    check_equal(LEARNED.parent.stat().st_mode & 0o777, 0o755, "and everybody may read it")
    grows(exact)
    says_what_he_likes()
    learns_while_it_runs()
    asked_though_given()
    # Keeps its last figure.
    pages = learned()
    systemctl(f"stop {postgresql()}", "it stops")
    set_shared_buffers("nonsense")
    done = sh(f"systemctl start {postgresql()}", timeout_sec=120)
    check(done.returncode != 0, "broken: PostgreSQL itself does not start", said(done))
    check(told(postgresql(), "pg-main: its size is not known", f"it gets {pages} pages of 2M as before"),
          "broken: its last figure is kept, and the log says so",
          messages("-u", postgresql())[-20:])
    check_equal((learned(), sum(pools().values())), (pages, pages), "broken: nothing has changed")
    set_shared_buffers(f"{RAISED}MB")
    sh(f"systemctl reset-failed {postgresql()}")
    systemctl(f"start {postgresql()}", "mended: it starts")
    counters_agree(pages, "mended")
    another_version_has_another_preference()


def grows(before: int) -> None:
    set_shared_buffers(f"{RAISED}MB")
    systemctl(f"restart {postgresql()}", "raised: PostgreSQL starts")
    check(wait_for(lambda: learned() > before + 80, 10), "raised: more is learned", learned())
    raised = learned()
    check(told(KEPT, "learned", f"before it was {before} pages"), "raised: the log tells")
    counters_agree(raised, "raised")
    n_learned = len([line for line in messages("-u", KEPT) if "learned that" in line])
    systemctl(f"stop {postgresql()}", "it stops")
    check_equal(own_word(), raised, "raised: it is the server's own answer")
    systemctl(f"start {postgresql()}", "it starts again")
    check_equal(len([line for line in messages("-u", KEPT) if "learned that" in line]), n_learned,
                "again: nothing is new")
    counters_agree(raised, "again")


def says_what_he_likes() -> None:
    """The owner, by lines of his own before the gate and by sessions of his: he may say once for each start that his
    database is larger, and no more; what is beyond bounds does not start, and no boot reserves it."""
    pages, liar = learned(), f"{LIAR} pg-main"
    LIAR.write_text(LIAR_TEXT)
    override = Path(f"/run/systemd/system/{postgresql()}.d/05-owner.conf")
    override.parent.mkdir(parents=True, exist_ok=True)
    become = "+/usr/bin/setpriv --reuid=postgres --regid=postgres --clear-groups /usr/bin/python3"
    for what, command in (("nothing", "0 1"), ("less than nothing", "-5 1")):
        override.write_text(f"[Service]\nExecStartPre={become} {liar} {command}\n")
        output("systemctl daemon-reload")
        systemctl(f"restart {postgresql()}", f"the owner says {what}: PostgreSQL starts")
        counters_agree(pages, f"the owner says {what}")
    check(told(KEPT, "the size reported by", "the size is not valid"), "the log tells of that", messages("-u", KEPT)[-20:])
    # A hundred times within the start: once it is believed, and then it is the gate that comes too late.
    override.write_text(f"[Service]\nExecStartPre={become} {liar} {pages + 9} 100\n")
    output("systemctl daemon-reload")
    systemctl(f"restart {postgresql()}", "the owner says more: PostgreSQL starts")
    check(wait_for(lambda: learned() == pages + 9, 10), "the owner says more: that is kept", learned())
    override.write_text(f"[Service]\nExecStartPre=-{become} {liar} 900 1\n")  # of a host that has 2 GiB
    output("systemctl daemon-reload")
    done = sh(f"systemctl restart {postgresql()}", timeout_sec=120)
    check(done.returncode != 0, "the owner says too much: his own does not start", said(done))
    check_equal(learned(), pages + 9, "the owner says too much: the next boot does not know it")
    override.unlink()
    output(f"systemctl daemon-reload; systemctl reset-failed; systemctl restart {postgresql()}")
    check(wait_for(lambda: learned() == pages, 10), "he tells the truth again", learned())
    counters_agree(pages, "he tells the truth again")
    for _ in range(3):
        output(f"runuser -u postgres -- /usr/bin/python3 {liar} 700 20")
    check_equal(learned(), pages, "from a session of his own nothing is believed")
    counters_agree(pages, "from a session of his own")


def is_at_rest() -> bool:
    """Whether the daemon has counted what the one that runs has mapped, and written that: some five seconds on."""
    return time.monotonic() > active_since(postgresql()) + 8


def learns_while_it_runs() -> None:
    pages = learned()
    wait_for(is_at_rest)
    check(wait_for(lambda: f"X-Seen=2M:{pages}" in LEARNED.read_text()),
          "running: it is seen to have mapped what it said")
    LEARNED.unlink()
    done = succeeds("systemctl reload hugeplan.service", "running: it can be reloaded")
    check(learned() >= pages and "X-Exact=no" in LEARNED.read_text(), "running: its rule says no less",
          LEARNED.read_text())
    # As of PostgreSQL up to 14, which cannot be asked.
    check(f"X-Seen=2M:{pages}" in LEARNED.read_text(), "running: its mapping tells the number", said(done))
    check("X-SeenExact=yes" in LEARNED.read_text(), "running: which is exact",
          (LEARNED.read_text(), messages("-u", "hugeplan.service")[-8:]))
    counters_agree(pages, "running")
    shown = output("hugeplanctl explain pg-main")
    check(f"The running PostgreSQL has mapped {pages} pages of 2M\n" in shown, "running: explain tells", shown)
    # It may have been started before its settings were edited, so the next start has no less than they may take.
    check(f"In effect: {learned()} pages of 2M, by the rule" in shown, "running: the rule counts", shown)
    systemctl(f"restart {postgresql()}", "asked again: it starts")
    check(wait_for(lambda: learned() == pages, 10), "asked again: its own word", learned())
    check("X-Running" not in LEARNED.read_text(), "asked again: before a start", LEARNED.read_text())
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
              for line in lines), "given: the gate says that it is too little, and what would do", lines[-10:])
    configure("20-pg-main", described)
    output("systemctl daemon-reload && hugeplanctl reload")
    sh(f"systemctl reset-failed {postgresql()}")
    systemctl(f"restart {postgresql()}", "not given: it starts")
    counters_agree(pages, "not given")


def another_version_has_another_preference() -> None:
    program = Path("/usr/bin/mongod")
    for version, policy in (("7.0.15", "never"), ("8.0.4", "always")):
        program.write_text(f"#!/bin/sh\necho 'db version v{version}'\n")
        program.chmod(0o755)
        if version == "7.0.15":
            configure("40-mongo", "[Instance]\nEngine=mongodb\n")
            sh("systemctl daemon-reload")
            succeeds("hugeplanctl reload", "MongoDB: a reload takes it in")
        systemctl("restart mongod.service", f"MongoDB {version}: it starts")
        seen = Path("/run/mongod-saw").read_text()
        if version == "7.0.15":
            check(f"[{policy}]" in seen, f"MongoDB {version}: its preference is met when it starts", seen)
        check(wait_for(lambda policy=policy: thp() == policy, 20), f"MongoDB {version}: its preference is met", thp())
    check("X-Version=8.0.4" in (CONFIG / "40-mongo.conf.d/90-learned.conf").read_text(),
          "MongoDB: the next boot knows its version")
    named = [one["text"] for one in status()["problems"] if one["id"] == "thp-conflict"]
    check(any("pg-main (PostgreSQL) prefers 'never'" in one for one in named),
          "MongoDB: whom that displeases is named", named)


def remembers() -> None:
    check_equal(thp(), "always", "next boot: MongoDB's preference is met from the start")
    pages = learned()
    seen = sum(witnessed())
    check_equal(seen, pages, "next boot: what was learned stood there before sysinit.target")
    check_postgresql(installed_postgresql(), RAISED * MIB, set(pools()))
    counters_agree(pages, "next boot")
    check(not told(KEPT, "learned its"), "next boot: there is nothing to learn")
    check(not told(postgresql(), "keeps its last"), "next boot: and was told the truth")
    check_equal(unit("hugeplan.service", "NRestarts"), "0", "hugeplan started at the first try")


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    more_suites=("trixie",),
    files=FILES,
    enable=("witness.service",),
    boots=(Boot(learns, limit_sec=900), Boot(remembers)),
)
