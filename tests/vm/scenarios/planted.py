# SPDX-License-Identifier: LGPL-2.1-or-later
"""A unit whose environment is its database's: what the loader does in it, it does as that user.

Environment=LD_LIBRARY_PATH=... is usual for Oracle, in a directory that Oracle owns; a library planted there
was run as root, for "+" drops User= and not the environment. Here the loader itself tells: with LD_DEBUG
it writes a file for each program that is started in the unit, as whoever that program is."""

import re
import shutil
import tempfile
from pathlib import Path

from guestlib import check, check_equal, instance, messages, output, pools, said, sh, unit, wait_for
from memory import CONFIG, configure
from scenario import Boot, Node, Scenario

UNIT = "planted.service"
STATE = Path("/var/lib/planted")
LEARNED = CONFIG / "20-planted.conf.d/90-learned.conf"
OWN_CONFIG = Path("/etc/planted/my.cnf")


def options(mib: int) -> str:
    return f"[mysqld]\nlarge-pages\ninnodb_buffer_pool_size={mib}M\n"


def loaded() -> dict[Path, str]:
    """What the loader wrote, by file."""
    return {path: path.read_text() for path in STATE.glob("ld.*")}


def owners() -> set[str]:
    return {path.owner() for path in STATE.glob("ld.*")}


def learned_pages() -> int:
    found = re.search(r"^Pages=2M:(\d+)$", LEARNED.read_text(), re.M) if LEARNED.exists() else None
    return int(found[1]) if found else 0


def asked() -> list[str]:
    return messages("-u", "hugeplan-learn@planted.service")


def restart(what: str) -> None:
    done = sh(f"systemctl restart {UNIT}", timeout_sec=120)
    check(done.returncode == 0, what, said(done))


def nobody_becomes_root() -> None:
    drop_in = Path(f"/run/systemd/generator/{UNIT}.d/10-hugeplan.conf").read_text()
    check(not re.search(r"^Exec\w+=[-@:]*[+!]", drop_in, re.M), "no line runs as root", drop_in)
    check("After=hugeplan-ask@planted.service" in drop_in, "a unit of ours asks before", drop_in)
    check_equal(unit(UNIT), "active", "it runs")
    gates = [path for path, text in loaded().items() if "hugeplanctl" in text]
    check(len(gates) >= 2, "both gates ran in its environment", loaded().keys())
    check_equal(owners(), {"nobody"}, "and as its user, like all else there")

    first = learned_pages()
    check(first > 32, "its size was learned all the same", asked())
    check_equal(instance("planted")["verdict"], "ready", "it has its pages")
    check(any("learned that it takes" in line for line in asked()), "our unit's log tells", asked())
    check_equal(output(f"stat -c %U {LEARNED}").strip(), "root", "what was learned is root's")

    OWN_CONFIG.write_text(options(128))
    restart("raised: it starts")
    check(learned_pages() > first + 16, "raised: it was asked before the start", asked())
    check(sum(pools().values()) >= learned_pages() + 5, "raised: and has its pages", pools())
    check_equal(owners(), {"nobody"}, "raised: nothing else ran")


def retried() -> None:
    """Restart= asks again: its job wants what a start does."""
    before = len([line for line in asked() if "learned" in line])
    OWN_CONFIG.write_text(options(64))
    output(f"systemctl kill -s KILL {UNIT}")
    check(wait_for(lambda: len([line for line in asked() if "learned" in line]) > before, 60),
          "started anew by systemd, it was asked anew", asked())
    check(wait_for(lambda: unit(UNIT) == "active", 60), "and runs again", unit(UNIT))


def not_asked() -> None:
    """The gate goes on with what was known before."""
    known = learned_pages()
    output("systemctl mask --runtime hugeplan-ask@planted.service")
    restart("without our unit: it starts")
    check_equal(learned_pages(), known, "without our unit: nothing was learned")
    output("systemctl unmask --runtime hugeplan-ask@planted.service")


def whose() -> None:
    """No User= tells whose it is, and the generator has no look at its files: who asks finds out."""
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
    said_so = messages("-u", "hugeplan-learn@owned.service")
    check(any("it belongs to games" in line and "User=" in line for line in said_so),
          "whose: before a start somebody else is asked, and says whose it is", said_so)
    check_equal(figure.read_text(), first, "whose: and nothing is learned")
    output("systemctl stop owned.service && hugeplanctl learn owned")
    second = figure.read_text()
    check(second != first, "whose: by hand, as root, it is", second)
    configure("40-owned", f"{instance_text}User=games\n")
    options_file.write_text(options(64))
    output("systemctl daemon-reload && systemctl start owned.service")
    check(figure.read_text() != second, "whose: named in User=, the owner is asked before a start",
          figure.read_text())
    output("systemctl stop owned.service")


def exposed(texts: dict[str, str], most: int) -> None:
    """By systemd-analyze, of units with such texts: all at once, for that takes seconds in a guest."""
    with tempfile.TemporaryDirectory() as name:
        for unit_name, text in texts.items():
            (Path(name) / unit_name).write_text(text)
        done = sh(f"systemd-analyze security --no-pager --offline=yes --threshold={most} {name}/*")
    check(done.returncode == 0, f"{len(texts)} units are exposed by 0.{most} or less", said(done)[-200:])


def little_is_exposed() -> None:
    """Each unit of ours. Before 255 one has something else in place of PrivateDevices=: see units/meson.build."""
    texts = {path.name: path.read_text() for path in Path("/usr/lib/systemd/system").glob("hugeplan*.service")}
    check(len(texts) >= 5, "all units are there", texts.keys())
    # Of one that is neither root's nor has a capability there is nothing to be confined.
    texts = {name: text for name, text in texts.items() if "\nUser=" not in text or "AmbientCapabilities=" in text}
    other = "InaccessiblePaths=/dev\n"
    early = {name: text for name, text in texts.items() if other in text}
    check(early.keys() in ({}.keys(), {"hugeplan.service"}), "one starts early, or none", early.keys())
    exposed({name: text.replace(other, "PrivateDevices=yes\n") for name, text in texts.items()}, 8)
    if early:
        exposed(early, 9)


def planted() -> None:
    little_is_exposed()
    nobody_becomes_root()
    retried()
    not_asked()
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
    boots=(Boot(planted),),
)
