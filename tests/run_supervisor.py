#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""conf/examples/postgres, in place of postgres, under pg_ctl and under what starts a server as pg_auto_failover and
Patroni do, and under pg_auto_failover itself where it is installed, with a real PostgreSQL and a hugeplanctl of the
test's own. Needs no huge pages.

usage: run_supervisor.py WRAPPER
"""

from __future__ import annotations

import functools
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import common
from common import check

OWNER = "postgres"
PATIENCE = 60.0
REFUSAL = "pg-main: refused: 227 pages of 2M (454M) do not fit"


def programs_of_server() -> pathlib.Path | None:
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def why_not() -> str | None:
    if not programs_of_server():
        return "there is no PostgreSQL; install Debian's package postgresql"
    try:
        return None if os.geteuid() in (0, pwd.getpwnam(OWNER).pw_uid) else f"neither root nor {OWNER}"
    except KeyError:
        return f"there is no user {OWNER}, who would run the server"


class Place:
    """A directory with links to the server's programs, the wrapper among them, and a cluster."""

    def __init__(self, wrapper: pathlib.Path, directory: pathlib.Path) -> None:
        real = programs_of_server()
        assert real
        self.programs, self.data = directory / "bin", directory / "data"
        self.calls, self.log, self.answer = directory / "calls", directory / "log", directory / "answer"
        self.programs.mkdir()
        for program in real.iterdir():
            if program.name != "postgres":
                (self.programs / program.name).symlink_to(program)
        text = re.sub(r"(?m)^server=.*", f"server={real}/postgres", wrapper.read_text())
        self.program("postgres", text.replace("#!/bin/sh\n", "", 1))
        self.program("hugeplanctl", f'echo "$*" >>{self.calls}\n. {self.answer}')
        self.answer.write_text("true")
        self.calls.touch()
        user = pwd.getpwnam(OWNER)
        for path in (directory, self.calls):
            os.chown(path, user.pw_uid, user.pw_gid)
        self.run("initdb", "-D", self.data, "--no-sync", "--auth=trust")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"huge_pages = off\nlisten_addresses = ''\nfsync = off\n"
                       f"unix_socket_directories = '{directory}'\n")

    def set(self, name: str, value: str) -> None:
        path = self.programs / "postgres"
        path.write_text(re.sub(f"(?m)^{name}=.*", f"{name}={value}", path.read_text()))

    def program(self, name: str, script: str) -> None:
        (self.programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.programs / name).chmod(0o755)

    def run(self, program: str, *arguments: object, succeeds: bool = True) -> str:
        user = pwd.getpwnam(OWNER)
        is_root = os.geteuid() == 0
        done = subprocess.run(
            [self.programs / program, *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, cwd="/",
            env={"PATH": f"{self.programs}:/usr/bin:/bin", "LC_ALL": "C"},
            **({"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if is_root else {}))
        check((done.returncode == 0) == succeeds, f"{program} {arguments}: {done.stdout}")
        return done.stdout

    def pg_ctl(self, verb: str, *arguments: object, succeeds: bool = True) -> str:
        return self.run("pg_ctl", verb, "-D", self.data, "-l", self.log, "-t", 20, *arguments, succeeds=succeeds)

    def asked(self) -> list[str]:
        """What hugeplanctl was called with since."""
        lines = self.calls.read_text().splitlines()
        self.calls.write_text("")
        return lines

    def lines_of_pid(self) -> int:
        return (self.data / "postmaster.pid").read_text().count("\n")

    def postmaster(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])


CALL = "wait --restart pg-main"


def test_pg_ctl(place: Place) -> None:
    """-p has it start the wrapper; without, a restart takes the program of the last start."""
    wrapper = place.programs / "postgres"
    place.pg_ctl("start", "-p", wrapper)
    first = place.postmaster()
    check(place.asked() == [CALL], "it waits for its pages")
    place.pg_ctl("restart", "-p", wrapper)
    check(place.postmaster() != first and place.asked() == [CALL], "and does so when it is restarted")
    program = pathlib.Path(f"/proc/{place.postmaster()}/exe").resolve()
    check(program.name == "postgres" and program.parent == programs_of_server(), str(program))
    place.pg_ctl("restart")
    check(place.asked() == [], "as the manual says: not without -p")


def test_refusal(place: Place) -> None:
    """Nothing is started, and the log has hugeplan's words."""
    place.answer.write_text(f"echo '{REFUSAL}' >&2\nexit 1")
    place.pg_ctl("start", "-p", place.programs / "postgres", succeeds=False)
    check(REFUSAL in place.log.read_text(), place.log.read_text())
    check(not (place.data / "postmaster.pid").exists(), "no server was started")
    place.answer.write_text("true")
    place.pg_ctl("start", "-p", place.programs / "postgres")


def test_questions(place: Place) -> None:
    """What starts no server waits for nothing."""
    check("PostgreSQL" in place.run("postgres", "--version"), "its version")
    check("PostgreSQL" in place.run("postgres", "-V"), "its version")
    shared = place.run("postgres", "-D", place.data, "-C", "shared_buffers").strip()
    check(shared.isdigit() or shared.endswith("B"), shared)
    check("max_connections" in place.run("postgres", "--describe-config"), "its settings")
    check(place.asked() == [], "nothing is waited for")


def start(place: Place, *more: str) -> subprocess.Popen[bytes]:
    """As pg_auto_failover (pg_ctl_postgres(): the postgres beside pg_ctl, -D first) and Patroni
    (PostmasterProcess.start(): -D, --config-file=, settings) do."""
    user = pwd.getpwnam(OWNER)
    is_root = os.geteuid() == 0
    with place.log.open("wb") as log:
        child = subprocess.Popen(
            [place.programs / "postgres", "-D", place.data, *more], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, env={"PATH": f"{place.programs}:/usr/bin:/bin", "LC_ALL": "C"},
            cwd="/", **({"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if is_root else {}))
    end = time.monotonic() + PATIENCE
    # It is written line by line.
    while not (place.data / "postmaster.pid").exists() or place.lines_of_pid() < 4:
        check(child.poll() is None and time.monotonic() < end, place.log.read_text())
        time.sleep(0.05)
    return child


def patronis(place: Place) -> list[str]:
    return [f"--config-file={place.data}/postgresql.conf", "--max_connections=33"]


def test_as_supervisors_do(place: Place) -> None:
    """The process that they start is the server."""
    for setting, more in (("no", ["-p", "6543"]), ("yes", patronis(place))):
        place.set("patroni", setting)
        child = start(place, *more)
        check(place.postmaster() == child.pid, "the process that was started is the server")
        check(place.asked() == [CALL], "it has waited")
        child.terminate()
        child.wait(PATIENCE)


def age_of_postmaster(place: Place) -> float:
    """How much older than its postmaster.pid it is, in seconds, as Patroni reckons it."""
    started = int((place.data / "postmaster.pid").read_text().split("\n")[2])
    ticks = int(pathlib.Path(f"/proc/{place.postmaster()}/stat").read_text().rsplit(")", 1)[1].split()[19])
    booted = int(re.search(r"btime (\d+)", pathlib.Path("/proc/stat").read_text())[1])  # type: ignore[index]
    return started - booted - ticks / os.sysconf("SC_CLK_TCK")


def test_patroni_after_a_while(place: Place) -> None:
    """It must not find a postmaster that is older than it says: there is a new process, which stays, and takes
    Patroni's signals through the one that it has started."""
    place.answer.write_text("sleep 4")
    place.set("patroni", "yes")
    place.set("linger", "3")
    child = start(place, *patronis(place))
    server = place.postmaster()
    check(server != child.pid and abs(age_of_postmaster(place)) < 2, f"{age_of_postmaster(place)}")
    check(child.wait(PATIENCE) == 0, "the one has gone")
    time.sleep(0.2)
    place.pg_ctl("status")
    check(place.postmaster() == server, "the other is there")
    place.pg_ctl("stop", "-m", "fast")
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 0)):
        child = start(place, *patronis(place))
        child.send_signal(number)
        check(child.wait(PATIENCE) == code, "the signal reaches the server, and its end the wrapper")
        check(not (place.data / "postmaster.pid").exists(), "it has stopped")


def why_no_pg_auto_failover() -> str | None:
    real = programs_of_server()
    assert real
    version = real.parent.name
    if os.geteuid() != 0:
        return "its monitor listens everywhere, so it needs a network of its own, and that needs root"
    if not all(map(shutil.which, ("pg_autoctl", "ip", "unshare"))):
        return "there is no pg_autoctl; install Debian's pg-auto-failover-cli" if shutil.which("ip") else "there is no ip"
    if not pathlib.Path(f"/usr/share/postgresql/{version}/extension/pgautofailover.control").exists():
        return f"its monitor wants Debian's postgresql-{version}-auto-failover"
    return None


# With a network of their own: a monitor, and the node when that answers.
MONITOR_AND_NODE = """\
ip link set lo up
autoctl() { setpriv --reuid=%(owner)s --regid=%(owner)s --init-groups %(autoctl)s create "$@" --auth trust --no-ssl \\
                --hostname localhost --run; }
autoctl monitor --pgdata %(directory)s/monitor --pgctl %(real)s/pg_ctl --pgport 6432 &
until %(real)s/psql -h 127.0.0.1 -p 6432 -U autoctl_node -c 'select 1' pg_auto_failover >/dev/null 2>&1; do sleep 0.5; done
autoctl postgres --pgdata %(data)s --pgctl %(programs)s/pg_ctl --pgport 6433 \\
        --monitor postgres://autoctl_node@localhost:6432/pg_auto_failover &
wait
"""


def until(what: str, is_so: Callable[[], bool], place: Place) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        check(time.monotonic() < end, f"{what}: {place.log.read_text()[-2000:]}")
        time.sleep(0.1)


def is_ready(place: Place) -> bool:
    file = place.data / "postmaster.pid"
    return file.exists() and "ready" in file.read_text()


def test_pg_auto_failover(place: Place) -> None:
    reason = why_no_pg_auto_failover()
    if reason:
        print(f"skip test_pg_auto_failover: {reason}")
        return
    home = place.data.parent
    shutil.rmtree(place.data)  # it makes one of its own
    values = {"owner": OWNER, "directory": home, "data": place.data, "programs": place.programs,
              "real": programs_of_server(), "autoctl": shutil.which("pg_autoctl")}
    environment = {"PATH": f"{place.programs}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": str(home),
                   **{f"XDG_{name}": str(home) for name in ("RUNTIME_DIR", "CONFIG_HOME", "DATA_HOME")}}
    with place.log.open("wb") as log, subprocess.Popen(
            ["unshare", "--net", "sh", "-c", MONITOR_AND_NODE % values], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd="/", env=environment, start_new_session=True) as both:
        try:
            # It starts the wrapper, and does again when the server has died; what is refused it tries later.
            until("it has started", lambda: is_ready(place), place)
            check(place.asked() == [CALL], "it waits for its pages")
            first = place.postmaster()
            check(pathlib.Path(f"/proc/{first}/exe").resolve().parent == programs_of_server(), "the server runs")
            os.kill(first, signal.SIGQUIT)
            until("it starts it again", lambda: is_ready(place) and place.postmaster() != first, place)
            check(place.asked() == [CALL], "and does so when it has died")
            place.answer.write_text(f"echo '{REFUSAL}' >&2\nexit 1")
            os.kill(place.postmaster(), signal.SIGQUIT)
            until("its log has hugeplan's words", lambda: REFUSAL in place.log.read_text(), place)
            check(not (place.data / "postmaster.pid").exists(), "no server was started")
            place.answer.write_text("true")
            until("what was refused is tried again", lambda: is_ready(place), place)
        finally:
            for each in ("data", "monitor"):
                subprocess.run([values["autoctl"], "stop", "--immediate", "--pgdata", home / each], env=environment, user=OWNER,
                               stdout=log, stderr=log, cwd="/")
            try:
                both.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(both.pid, signal.SIGKILL)
                raise


def run_test(test: Callable[[Place], None], wrapper: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(prefix="hugeplan-supervisor-") as directory:
        place = Place(wrapper, pathlib.Path(directory))
        try:
            test(place)
        finally:
            if (place.data / "postmaster.pid").exists():
                place.pg_ctl("stop", "-m", "immediate")


def main() -> int:
    reason = why_not()
    if reason:
        return common.skip(reason)
    return common.summary_of([common.passes(name, functools.partial(run_test, test, pathlib.Path(sys.argv[1])))
                              for name, test in common.tests_in(globals(), []).items()])


if __name__ == "__main__":
    sys.exit(main())
