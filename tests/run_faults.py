#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The three programs when an allocation or a system call fails, once or from then on.

usage: run_faults.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --generator=PROGRAM --shim=LIBRARY
                     --faults=LIBRARY [--whole] [TEST...]

The programs are built without sanitizers, and support/fault_shim.c is preloaded. A first run counts the calls; in each
further run the n-th call fails. Some n are drawn, fewer with HUGEPLAN_FAULTS=few; with --whole, or
HUGEPLAN_FAULTS=whole, all are run. The conditions of each run:

    generator    all drop-ins are correct, or the exit code is 1 and there is a message
    hugeplanctl  the output is correct, or the exit code is not 0 and there is a message
    hugepland    the daemon serves, or has ended with a message; no pool is below its existing or granted pages; and
                 the next daemon, without a fault, carries the plan out
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import errno
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import common
import run_daemon
import unpack_host
from common import Failure, check, wait_until

FILES = "open,read,fstat,fstatfs,getdents64,readlink"
CHANGES = "write,close,fsync,fchmod,mkdir,unlink,symlink,rename,link"
SOCKETS = "socket,bind,listen,connect,accept,setsockopt,getsockopt,send,recv"
LOOP = "epoll,descriptor,timerfd,inotify_add_watch,thread,fork"
SHORT = 0  # no error, but half of the bytes are read or written
PARTIAL = "read,write,send,recv"


@dataclasses.dataclass(frozen=True)
class Fault:
    calls: str
    error: int
    is_forever: bool
    at: int = 0

    def __str__(self) -> str:
        what = errno.errorcode[self.error] if self.error else "half of it"
        return f"{self.calls} {self.at}{' and after' if self.is_forever else ''}: {what}"


MEMORY = [Fault("memory", errno.ENOMEM, is_forever) for is_forever in (False, True)]


def system_faults(calls: str, *errors: int) -> list[Fault]:
    return [Fault(calls, error, False) for error in errors]


@dataclasses.dataclass
class Programs:
    hugepland: pathlib.Path
    hugeplanctl: pathlib.Path
    generator: pathlib.Path
    shim: pathlib.Path
    faults: pathlib.Path
    is_whole: bool
    is_few: bool


@dataclasses.dataclass
class Done:
    code: int
    output: str
    errors: str


class Bench:
    """A host, and a directory for the files of one run of a program on it."""

    def __init__(self, programs: Programs, root: pathlib.Path, place: pathlib.Path | None = None) -> None:
        self.programs = programs
        self.root = root
        self.place = place or root.parent
        self.log = self.place / "faults"

    @contextlib.contextmanager
    def another(self) -> Iterator[Bench]:
        """The same host with another directory."""
        with tempfile.TemporaryDirectory(dir=self.root.parent) as name:
            yield Bench(self.programs, self.root, pathlib.Path(name))

    def environment(self, fault: Fault) -> dict[str, str]:
        environment = {"LD_PRELOAD": str(self.programs.faults), "FAULT_CALLS": fault.calls,
                       "FAULT_AT": str(fault.at), "FAULT_ERROR": str(fault.error),
                       "FAULT_ROOT": str(self.root.parent), "FAULT_LOG": str(self.log)}
        return environment | ({"FAULT_FOREVER": "1"} if fault.is_forever else {})

    def run(self, fault: Fault | None, *command: object, seconds: float = 60) -> Done:
        environment = common.ENVIRONMENT | (self.environment(fault) if fault else {})
        done = subprocess.run([*common.WRAPPER, *map(str, command)], check=False, text=True, cwd=self.root,
                              capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL, env=environment)
        return Done(done.returncode, done.stdout, done.stderr)

    def counted(self) -> int:
        """After a run with FAULT_AT=0: the calls of the process that made most."""
        return max(map(int, self.log.read_text().split()))

    def failed(self) -> str:
        return self.log.read_text().strip() if self.log.exists() else "nothing"


@contextlib.contextmanager
def bench_of(programs: Programs, case: str) -> Iterator[Bench]:
    with common.root_of(case) as root:
        yield Bench(programs, root)


# The runs of a persistent fault: each takes a third of a second or longer, so that --whole draws as well.
FOREVER_SHARE = 60


def draw(n: int, share: int, kind: Fault, is_whole: bool) -> list[int]:
    """About SHARE of the numbers 1 to N, one from each part of the range; they change every day."""
    if is_whole:
        share = FOREVER_SHARE if kind.is_forever and kind.calls != "memory" else n
    if n <= share:
        return list(range(1, n + 1))
    dice = random.Random(f"{time.strftime('%F')} {kind}")
    return [dice.randrange(i * n // share, (i + 1) * n // share) + 1 for i in range(share)]


Run = Callable[[Fault], int]


def play(programs: Programs, kinds: list[Fault], share: int, run: Run) -> int:
    """Makes and judges the runs by RUN, which returns a run's number of calls; returns the number of runs."""
    if programs.is_few:
        kinds = random.Random(time.strftime("%F")).sample(kinds, (len(kinds) + 1) // 2)
        share = (share + 2) // 3
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(run, kinds))
        runs = [pool.submit(run, dataclasses.replace(kind, at=at)) for kind, n in zip(kinds, counts)
                for at in draw(n, share, kind, programs.is_whole)]
        failures = [str(each.exception()) for each in runs if each.exception()]
    check(not failures, f"{len(failures)} of {len(runs)} runs\n" + "\n".join(failures[:5]))
    return len(runs)


def play_on(bench: Bench, kinds: list[Fault], share: int, run_and_judge: Callable[[Bench, Fault], None]) -> int:
    """play() on one host, which no run changes."""
    def run(fault: Fault) -> int:
        with bench.another() as own:
            try:
                run_and_judge(own, fault)
            except (Failure, subprocess.TimeoutExpired) as failure:
                raise Failure(f"{fault} ({own.failed()}): {failure}") from failure
            return own.counted() if fault.at == 0 else 0
    return play(bench.programs, kinds, share, run)


def check_ended(done: Done) -> None:
    check(done.code >= 0, f"ended by signal {-done.code}\n{done.errors}")


# ---- generator ----

def generate(bench: Bench, fault: Fault | None) -> tuple[Done, dict[str, str]]:
    output = bench.place / "output"
    output.mkdir()
    done = bench.run(fault, bench.programs.generator, f"--root={bench.root}", output)
    files = {str(path.relative_to(output)): str(path.readlink()) if path.is_symlink() else path.read_text()
             for path in output.rglob("*") if not path.is_dir() or path.is_symlink()}
    return done, files


def judge_generated(done: Done, files: dict[str, str], expected: dict[str, str]) -> None:
    check_ended(done)
    files = {name: text for name, text in files.items() if not pathlib.PurePath(name).name.startswith(".#")}
    for name, text in files.items():
        # The daemon is wanted if the link that enables it cannot be read. A file that could neither be written nor removed
        # is empty.
        is_fallback = done.code == 1 and (text == "" or (name.endswith("/hugeplan.service") and text == "../hugeplan.service"))
        check(text == expected.get(name) or is_fallback, f"{name} is another one:\n{text}")
    check(done.code in (0, 1), f"exit code {done.code}")
    check(done.code == 1 or files == expected,
          f"exit code 0 without {sorted(expected.keys() - files.keys())}\n{done.errors}")
    check(done.code == 0 or bool(done.errors), "exit code 1 without a message")


def play_generator(programs: Programs, case: str, kinds: list[Fault], share: int) -> int:
    with bench_of(programs, case) as bench:
        done, expected = generate(bench, None)
        check(done.code == 0 and len(expected) > 0, f"{case}: {done}")
        return play_on(bench, kinds, share, lambda own, fault: judge_generated(*generate(own, fault), expected))


def test_generator_memory(programs: Programs) -> int:
    return sum(play_generator(programs, case, MEMORY, 15) for case in ("mounts", "eight-nodes"))


def test_generator_calls(programs: Programs) -> int:
    once = [*system_faults(FILES, errno.EIO, errno.EMFILE, errno.EINTR, errno.ENOMEM),
            *system_faults(CHANGES, errno.EIO, errno.ENOSPC),
            *system_faults("write,fsync", errno.EINTR), *system_faults(PARTIAL, SHORT)]
    forever = [dataclasses.replace(kind, is_forever=True) for kind in once if kind.error == errno.EIO]
    return sum(play_generator(programs, case, kinds, share)
               for case in ("mounts", "hugetlb-limits") for kinds, share in ((once, 5), (forever, 1)))


# ---- hugeplanctl ----

def without_daemon(text: str) -> str:
    """TEXT without the lines that say that the daemon cannot be reached."""
    text = re.sub(r"warning: hugepland cannot be reached .*\n +what to do: .*\n", "", text)
    return text.replace("; no daemon", "").rstrip()


def judge_printed(done: Done, expected: Done) -> None:
    check_ended(done)
    check(done.code in (0, 1, 3, 4, 75), f"exit code {done.code}")
    if done.code == expected.code and without_daemon(done.output) == without_daemon(expected.output):
        return
    check(done.code != 0, f"exit code 0, and the output is\n{done.output}{done.errors}--- instead of\n{expected.output}")
    check(bool(done.errors) or "cannot" in done.output,
          f"exit code {done.code} instead of {expected.code}, without a message\n{done.output}")


def play_verb(bench: Bench, kinds: list[Fault], share: int, *verb: str) -> int:
    command = (bench.programs.hugeplanctl, f"--root={bench.root}", *verb)
    expected = bench.run(None, *command)
    return play_on(bench, kinds, share, lambda own, fault: judge_printed(own.run(fault, *command), expected))


READING = [*system_faults(FILES, errno.EIO, errno.EMFILE, errno.EINTR),
           *system_faults("write", errno.EIO, errno.ENOSPC), *system_faults(PARTIAL, SHORT)]
ALONE = [("plan",), ("--json=short", "plan"), ("check",), ("status",), ("wait", "--all"), ("import",), ("cmdline",),
         ("--json=short", "report")]


def test_verbs_memory(programs: Programs) -> int:
    n_runs = 0
    for case in ("eight-nodes", "running"):
        with bench_of(programs, case) as bench:
            n_runs += sum(play_verb(bench, MEMORY, 3, *verb) for verb in ALONE)
    return n_runs


def test_verbs_calls(programs: Programs) -> int:
    n_runs = 0
    for case in ("running", "mounts"):
        with bench_of(programs, case) as bench:
            n_runs += sum(play_verb(bench, READING, 1, *verb) for verb in ALONE)
    return n_runs


# ---- the reserve ----

def test_reserve(programs: Programs) -> int:
    """With no heap at all the programs plan and print a large host from their reserve."""
    none = Fault("memory", errno.ENOMEM, True, 1)
    commands = [("plan",), ("status",), ("--json=short", "status")]
    with bench_of(programs, "eight-nodes") as bench:
        for i in range(90):
            (bench.root / f"etc/hugeplan.d/{i}-db{i}.conf").write_text(
                f"[Instance]\nEngine=postgresql\nMemory=100M\nUnit=db{i}.service\n")
        for command in ((programs.hugeplanctl, f"--root={bench.root}", *verb) for verb in commands):
            done, expected = bench.run(none, *command), bench.run(None, *command)
            check((done.code, done.output) == (expected.code, expected.output),
                  f"{command}: {done.code}\n{done.errors}")
        with bench.another() as one, bench.another() as other:
            done, files = generate(one, none)
            check(done.code == 0 and files == generate(other, None)[1], f"generator: {done}")
    return len(commands) + 1


# ---- hugepland ----

PG = "[Instance]\nPages=400\nUnit=pg.service\n"
GROWN = "[Instance]\nPages=600\nUnit=pg.service\n"
SMALL = "[Instance]\nPages=10\nNodes=2\n"
POOLS = (0, 2)  # the nodes of the fixture
FOUND = 20  # existing pages
SILENT_SECONDS = 1


class Life:
    """One daemon from start to end on a fixture, and the calls to it."""

    def __init__(self, bench: Bench, host: run_daemon.Host, fault: Fault | None) -> None:
        self.bench, self.host = bench, host
        more = bench.environment(fault) if fault else {}
        if fault:
            # A call that fails must not reach the kernel shim.
            more["LD_PRELOAD"] += f":{bench.programs.shim}"
        self.daemon = host.spawn(more_environment=more)
        self.may_be_silent = fault is not None and fault.is_forever
        self.is_silent = False

    def pools(self) -> tuple[int, ...]:
        return tuple(self.host.pool(node) for node in POOLS)

    def is_over(self) -> bool:
        return self.daemon.poll() is not None

    def ask(self, *arguments: str) -> Done:
        """Calls hugeplanctl. A daemon without memory may not answer; then this stops waiting after SILENT_SECONDS."""
        command = (self.bench.programs.hugeplanctl, f"--root={self.bench.root}", *arguments)
        try:
            return self.bench.run(None, *command, seconds=SILENT_SECONDS if self.may_be_silent else 60)
        except subprocess.TimeoutExpired:
            if not self.may_be_silent:
                raise
            self.is_silent = True
            return Done(1, "", "no answer")

    def phase(self) -> str:
        done = self.ask("--json=short", "status")
        return json.loads(done.output)["host"]["phase"] if done.code in (0, 3) else ""

    def is_idle(self) -> bool:
        return self.phase() in ("idle", "retrying")

    def wait_idle(self) -> None:
        """Waits for the end of the rounds; a daemon without memory for a connection may not answer at all."""
        start = time.monotonic()
        while not self.is_over() and not self.is_silent and not self.is_idle():
            taken = time.monotonic() - start
            if self.may_be_silent and taken > 1:
                return
            check(taken < 20, f"the rounds do not end\n{self.host.log(self.daemon)}")

    def was_short(self) -> bool:
        return "could be reserved" in self.host.log(self.daemon)

    def check_pools(self, granted: int) -> None:
        """Half of the granted pages is in each pool, or more in one if the other could not be written. A file that is
        being written is empty for a moment."""
        wait_until("the pools", lambda: self.is_over() or min(self.pools()) >= 0)
        if self.is_over():
            self.host.kernel.finish_writes()
        now = self.pools()
        if self.was_short():
            holds = now[0] >= FOUND and sum(now) >= granted
        else:
            holds = now[0] >= max(FOUND, granted // 2) and now[1] >= granted // 2
        check(holds, f"the pools are {now}, with {granted} pages granted")

    def end(self) -> None:
        self.daemon.terminate()
        code = self.daemon.wait(20)
        self.host.daemons.remove(self.daemon)
        log = self.host.log(self.daemon)
        check(code in (0, 1), f"the daemon ended with {code}\n{log}")
        check(code == 0 or bool(log), "the daemon ended with 1 without a message")


def make_host(programs: Programs, root: pathlib.Path) -> run_daemon.Host:
    unpack_host.unpack(common.HERE / "hosts" / "two-nodes-hole.tree", root)
    host = run_daemon.Host(root, programs.hugepland, programs.hugeplanctl, programs.shim)
    host.set_pool(0, FOUND)
    host.config("20-pg.conf", PG)
    host.config("30-small.conf", SMALL)
    return host


def live(programs: Programs, bench: Bench, host: run_daemon.Host, fault: Fault | None) -> None:
    """Start, gate, reload, status; then another daemon without a fault, which must carry the plan out."""
    life = Life(bench, host, fault)
    life.wait_idle()
    life.check_pools(0)
    granted = 0
    if not life.is_over() and life.ask("--timeout=300ms", "wait", "pg").code == 0:
        granted = 400
    life.check_pools(granted)
    host.config("20-pg.conf", GROWN)
    if not life.is_over():
        done = life.ask("reload")
        check(done.code in (0, 1, 3), f"reload: {done}")
        if done.code == 0:
            granted = 600
    life.check_pools(granted)
    life.wait_idle()
    life.end()
    life.check_pools(granted)
    well = Life(bench, host, None)
    well.wait_idle()
    done = well.ask("--json=short", "status")
    verdicts = {each["name"]: each["verdict"] for each in json.loads(done.output)["instances"]}
    check(verdicts == {"pg": "ready", "small": "ready"}, f"afterwards {verdicts}\n{done.output}")
    # An instance that has its pages on other nodes than planned is not moved.
    is_right = sum(well.pools()) == 610 if life.was_short() else well.pools() == (300, 310)
    check(is_right, f"afterwards the pools are {well.pools()}")
    check("broken" not in host.log(well.daemon), host.log(well.daemon))
    well.end()


def live_once(programs: Programs, directory: pathlib.Path, fault: Fault) -> int:
    place = directory / f"{fault.calls[:6]}-{fault.error}-{fault.is_forever}-{fault.at}"
    place.mkdir()
    host = make_host(programs, place / "root")
    bench = Bench(programs, place / "root")
    try:
        live(programs, bench, host, fault)
        return bench.counted() if fault.at == 0 else 0
    except (Failure, subprocess.TimeoutExpired) as failure:
        logs = "".join(path.read_text() for path in place.glob("log-*"))
        raise Failure(f"{fault} ({bench.failed()}): {failure}\n--- logs\n{logs}") from failure
    finally:
        host.end()
        shutil.rmtree(place)


def play_daemon(programs: Programs, kinds: list[Fault], share: int) -> int:
    with tempfile.TemporaryDirectory(prefix="hugeplan-faults-") as name:
        directory = pathlib.Path(name).resolve()
        return play(programs, kinds, share, lambda fault: live_once(programs, directory, fault))


def test_daemon_memory(programs: Programs) -> int:
    return play_daemon(programs, MEMORY, 4)


def test_daemon_calls(programs: Programs) -> int:
    return play_daemon(programs, [*system_faults(FILES, errno.EIO, errno.EMFILE, errno.EINTR, errno.ENOMEM),
                                  *system_faults(CHANGES, errno.EIO, errno.ENOSPC),
                                  *system_faults("write,fsync,send,recv", errno.EINTR),
                                  *system_faults(SOCKETS, errno.ENOMEM),
                                  *system_faults(PARTIAL, SHORT),
                                  *system_faults(LOOP, errno.EMFILE)], 1)


# ---- hugeplanctl with a daemon without faults ----

def play_served(programs: Programs, kinds: list[Fault], share: int) -> int:
    """play_verb() for verbs that call the daemon. None changes anything: the reload reads the same files again."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-faults-") as name:
        host = make_host(programs, pathlib.Path(name).resolve() / "root")
        bench = Bench(programs, host.root)
        try:
            life = Life(bench, host, None)
            # The daemon looks once more after its own writes.
            for pause in (1, 0):
                wait_until("rest", lambda: life.phase() == "idle")
                time.sleep(pause)
            n_runs = sum(play_verb(bench, kinds, share, *verb) for verb in (("status",), ("wait", "pg"), ("reload",)))
            life.check_pools(400)
            life.end()
        finally:
            host.end()
        return n_runs


def test_served_memory(programs: Programs) -> int:
    return play_served(programs, MEMORY, 3)


def test_served_calls(programs: Programs) -> int:
    return play_served(programs, [*READING, *system_faults(SOCKETS, errno.ENOMEM)], 1)


# ---- all ----

TESTS = [test_generator_memory, test_generator_calls, test_verbs_memory, test_verbs_calls, test_reserve,
         test_daemon_memory, test_daemon_calls, test_served_memory, test_served_calls]


def main() -> int:
    parser = common.parser(__doc__, "hugepland", "hugeplanctl", "generator", "shim", "faults", rest="tests")
    parser.add_argument("--whole", action="store_true")
    arguments = parser.parse_args()
    programs = Programs(arguments.hugepland, arguments.hugeplanctl, arguments.generator, arguments.shim, arguments.faults,
                        arguments.whole or os.environ.get("HUGEPLAN_FAULTS") == "whole",
                        os.environ.get("HUGEPLAN_FAULTS") == "few")
    return common.summary_of([common.passes(test.__name__, lambda test=test: f"{test(programs)} runs")  # type: ignore[misc]
                              for test in TESTS if not arguments.tests or test.__name__ in arguments.tests])


if __name__ == "__main__":
    sys.exit(main())
