#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What hugeplan-report.socket starts, on unpacked fixture hosts: `hugeplanctl serve-metrics` with a socket as systemd
hands it over. It says what `metrics` does, in the way that systemd-report takes it, whoever asks and how often.

usage: run_report_socket.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --shim=LIBRARY [TEST...]
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import common
from common import check, wait_until
from run_daemon import PG, SMALL, Host, listen, main
from run_silent import Played

SERVICE = "org.hugeplan.Manager"  # as the socket is called
INTERFACE = "io.systemd.Metrics"
# systemd's varlink_idl_interface_name_is_valid() and varlink_idl_field_name_is_valid(), which systemd-report has for names.
NAME = re.compile(r"(?P<service>[a-zA-Z][a-zA-Z0-9-]*(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)+)\.[a-zA-Z](_?[a-zA-Z0-9])*")
# What systemd does: the socket is descriptor 3, and the number of the process is in its environment.
STARTER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


class Service:
    """The program and its socket."""

    def __init__(self, host: Host, timeout: str | None) -> None:
        self.path = host.root / "run/systemd/report" / SERVICE
        self.listener = listen(self.path, 512)
        self.log = host.root.parent / "log-report"
        more = [f"--timeout={timeout}"] if timeout else []
        command = [*host.hugeplanctl, f"--root={host.root}", *more, "serve-metrics"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", STARTER, str(self.listener.fileno()), *command], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, pass_fds=(self.listener.fileno(),),
                env=common.ENVIRONMENT | {"LISTEN_FDS": "1"})

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(20)
        client.connect(str(self.path))
        return client

    def call(self, method: str, more: bool = True, interface: str = INTERFACE,
             parameters: dict | None = None) -> list[dict]:
        """All replies."""
        with self.connect() as client:
            client.sendall(json.dumps({"method": f"{interface}.{method}", "more": more,
                                       "parameters": parameters or {}}).encode() + b"\0")
            return replies_of(client)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(20)
        self.listener.close()


def replies_of(client: socket.socket) -> list[dict]:
    text = b""
    while True:
        part = client.recv(65536)
        check(part != b"", f"it hangs up after {text[-200:]!r}")
        text += part
        if text.endswith(b"\0"):
            replies = [json.loads(each) for each in text[:-1].split(b"\0")]
            if not replies[-1].get("continues"):
                return replies


@contextlib.contextmanager
def serving(host: Host, timeout: str | None = None) -> Iterator[Service]:
    service = Service(host, timeout)
    try:
        yield service
    finally:
        service.end()


def test_is_what_metrics_says(host: Host, fixture: str = "two-nodes-hole") -> None:
    host.config("20-pg.conf", PG)
    host.config("30-small.conf", SMALL)
    host.config("40-large.conf", "[Instance]\nPages=999999\n")
    daemon = host.start()
    said = json.loads(host.ctl("--json=short", "metrics").stdout)
    with serving(host) as service:
        for method, expected in ("List", said["metrics"]), ("Describe", said["families"]):
            replies = service.call(method)
            check([reply.get("parameters") for reply in replies] == expected, f"{method}: {replies}")
            check(all(reply.get("continues") for reply in replies[:-1]), f"{method}: one in each reply")
    host.stop(daemon)
    values = {(each["name"].rpartition(".")[2], each.get("object")): each["value"] for each in said["metrics"]}
    check(values["DaemonReached", None] == 1, "the daemon was asked")
    check((values["DatabaseVerdict", "pg"], values["DatabaseVerdict", "large"]) == ("ready", "refused"), str(values))
    check(values["DatabaseWantedBytes", "pg"] == 1000 << 21, str(values))


def test_what_systemd_takes(host: Host, fixture: str = "eight-nodes") -> None:
    """As systemd-report checks it."""
    host.config("20-pg.conf", PG)
    with serving(host) as service:
        families = {each["parameters"]["name"]: each["parameters"] for each in service.call("Describe")}
        for name in families:
            match = NAME.fullmatch(name)
            check(bool(match) and match["service"] == SERVICE, f"a family's name: {name}")
        metrics = [each["parameters"] for each in service.call("List")]
        for metric in metrics:
            check(metric["name"] in families, f"{metric} has a family")
            kind = {"gauge": int, "string": str}[families[metric["name"]]["type"]]
            check(isinstance(metric["value"], kind), f"{metric} is of its family's type")
            check(all(isinstance(value, str) for value in metric.get("fields", {}).values()), f"fields of {metric}")
        keys = [json.dumps([each["name"], each.get("object"), each.get("fields")]) for each in metrics]
        check(len(set(keys)) == len(keys), "no two metrics are the same")
        check(any(each.get("fields", {}).get("node") == "7" for each in metrics), "every node is told")


def test_wrong_calls(host: Host, fixture: str = "one-node") -> None:
    with serving(host) as service:
        for method, more, parameters, error in (
            ("List", False, {}, "org.varlink.service.ExpectedMore"),
            ("Describe", False, {}, "org.varlink.service.ExpectedMore"),
            ("List", True, {"prefix": "x"}, "org.varlink.service.InvalidParameter"),
            ("Set", True, {}, "org.varlink.service.MethodNotFound"),
        ):
            replies = service.call(method, more, parameters=parameters)
            check([reply.get("error") for reply in replies] == [error], f"{method}: {replies}")
        replies = service.call("Describe", interface=SERVICE)
        check(replies[0].get("error") == "org.varlink.service.InterfaceNotFound", f"only metrics are here: {replies}")
        info = service.call("GetInfo", False, "org.varlink.service")[0]["parameters"]
        check(info["interfaces"] == ["org.varlink.service", INTERFACE] and info["product"] == "hugeplan", str(info))
        described = service.call("GetInterfaceDescription", False, "org.varlink.service", {"interface": INTERFACE})
        check(f"interface {INTERFACE}\n" in described[0]["parameters"]["description"], str(described))
        with service.connect() as client:
            client.sendall(b"nonsense\0")
            check(client.recv(100) == b"", "who does not speak Varlink is sent away")
        check(len(service.call("List")) > 1, "and others are served all the same")


def test_flood(host: Host, fixture: str = "two-nodes-hole") -> None:
    """However many ask, each gets all, and a gate waits for none of them."""
    host.config("20-pg.conf", PG)
    host.start()
    stop = threading.Event()
    counts: list[int] = []

    def flood(service: Service) -> None:
        n = 0
        while not stop.is_set():
            n += len(service.call("List")) > 1
        counts.append(n)

    with serving(host) as service:
        silent = [service.connect() for _ in range(40)]  # and say nothing
        expected = service.call("List")
        floods = [threading.Thread(target=flood, args=(service,)) for _ in range(8)]
        for each in floods:
            each.start()
        start = time.monotonic()
        done = host.ctl("wait", "pg")
        seconds = time.monotonic() - start
        check(done.returncode == 0 and seconds < 10, f"a gate: {seconds:.1f} s, {done.stderr}")
        check(service.call("List") == expected, "it says the same")
        stop.set()
        for each in floods:
            each.join()
        for each in silent:
            each.close()
    check(len(counts) == 8 and min(counts) > 0, f"all of them are answered: {counts}")


def test_looks_seldom(host: Host, fixture: str = "one-node") -> None:
    """However many ask, who looks does so once a second at most."""
    asked = Played(host, lambda _: b'{"error":"org.varlink.service.MethodNotImplemented"}')
    n = 0
    with serving(host) as service:
        start = time.monotonic()
        while time.monotonic() < start + 3 or n < 10:
            n += len(service.call("List")) > 1
        seconds = time.monotonic() - start
    n_asked = asked.calls.count("Describe")
    check(1 <= n_asked <= seconds + 1, f"{n} calls in {seconds:.1f} s, {n_asked} looks")


def test_slow_reader(host: Host, fixture: str = "eight-nodes") -> None:
    """Who takes nothing keeps nobody waiting, and has it all when he does."""
    for i in range(120):
        host.config(f"{i:03}-db{i}.conf", "[Instance]\nPages=8\n")
    with serving(host) as service, service.connect() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        slow.sendall(json.dumps({"method": f"{INTERFACE}.List", "more": True}).encode() + b"\0")
        others = service.call("List")
        check(len(others) > 1000, f"{len(others)} metrics")
        check(len(replies_of(slow)) == len(others), "the slow one has them all")


def test_ends_unused(host: Host, fixture: str = "one-node") -> None:
    """When nobody is there any more it ends; systemd starts it again for the next."""
    with serving(host, "1s") as service:
        client = service.connect()
        client.sendall(json.dumps({"method": f"{INTERFACE}.List", "more": True}).encode() + b"\0")
        replies_of(client)
        time.sleep(2.5)
        check(service.process.poll() is None, "it stays while somebody is there")
        client.close()
        wait_until("it ends", lambda: service.process.poll() is not None)
        check(service.process.returncode == 0, f"{service.process.returncode}: {service.log.read_text()}")


def test_follows_changes(host: Host, fixture: str = "one-node") -> None:
    """What is told is hardly older than a second."""
    host.config("20-pg.conf", "[Instance]\nPages=8\n")

    def wanted() -> dict[str, int]:
        return {each["object"]: each["value"] for each in
                (reply["parameters"] for reply in service.call("List")) if each["name"].endswith("WantedBytes")}

    with serving(host) as service:
        check(wanted() == {"pg": 8 << 21}, "one instance")
        host.config("30-more.conf", "[Instance]\nPages=4\n")
        wait_until("the other one is there", lambda: wanted() == {"pg": 8 << 21, "more": 4 << 21}, 5)


def test_without_a_socket(host: Host, fixture: str = "one-node") -> None:
    done = host.ctl("serve-metrics")
    check(done.returncode == 2 and "hugeplan-report.socket" in done.stderr, f"{done.returncode} {done.stderr}")
    check("serve-metrics" not in host.ctl("--help").stdout, "it is nobody's verb")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.environ.pop("LISTEN_FDS", None)
    sys.exit(main(globals()))
