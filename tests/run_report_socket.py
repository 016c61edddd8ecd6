#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The service behind hugeplan-report.socket, on unpacked fixture hosts: `hugeplanctl serve-metrics` with a socket as
systemd passes it. It serves the metrics of `hugeplanctl metrics` as systemd-report expects them, also to many
clients.

usage: run_report_socket.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --shim=LIBRARY [TEST...] """

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
from common import check, expect, wait_until
from run_daemon import PG, SMALL, Host, listen, main
from run_silent import INHERIT, FakeDaemon

SERVICE = "org.hugeplan.Manager"  # the name of the socket
INTERFACE = "io.systemd.Metrics"
# A name by systemd's varlink_idl_interface_name_is_valid() and varlink_idl_field_name_is_valid(), as systemd-report
# checks.
NAME = re.compile(r"(?P<service>[a-zA-Z][a-zA-Z0-9-]*(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)+)\.[a-zA-Z](_?[a-zA-Z0-9])*")


class Service:
    """A process of serve-metrics and its socket."""

    def __init__(self, host: Host, timeout: str | None) -> None:
        self.path = host.root / "run/systemd/report" / SERVICE
        self.listener = listen(self.path, 512)
        self.log = host.root.parent / "log-report"
        more = [f"--timeout={timeout}"] if timeout else []
        command = [*host.hugeplanctl, f"--root={host.root}", *more, "serve-metrics"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", INHERIT, str(self.listener.fileno()), *command], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, pass_fds=(self.listener.fileno(),),
                env=common.ENVIRONMENT)

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
        check(part != b"", f"the connection is closed after {text[-200:]!r}")
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


def test_same_as_verb_metrics(host: Host, fixture: str = "two-nodes-hole") -> None:
    """Both ways of reading metrics give the same ones."""
    host.config("20-pg.conf", PG)
    host.config("30-small.conf", SMALL)
    host.config("40-large.conf", "[Instance]\nPages=999999\n")
    daemon = host.start()
    said = json.loads(host.ctl("--json=short", "metrics").stdout)
    with serving(host) as service:
        for method, expected in ("List", said["metrics"]), ("Describe", said["families"]):
            replies = service.call(method)
            check([reply.get("parameters") for reply in replies] == expected, f"{method}: {replies}")
            check(all(reply.get("continues") for reply in replies[:-1]), f"{method}: one metric in each reply")
    host.stop(daemon)
    values = {(each["name"].rpartition(".")[2], each.get("object")): each["value"] for each in said["metrics"]}
    check(values["DaemonReached", None] == 1, "the metrics are the daemon's")
    check((values["DatabaseVerdict", "pg"], values["DatabaseVerdict", "large"]) == ("ready", "refused"), str(values))
    check(values["DatabaseWantedBytes", "pg"] == 1000 << 21, str(values))


def test_rules_of_systemd_report(host: Host, fixture: str = "eight-nodes") -> None:
    """systemd-report ignores metrics that break its rules."""
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
        check(any(each.get("fields", {}).get("node") == "7" for each in metrics), "every node has metrics")


def test_wrong_calls(host: Host, fixture: str = "one-node") -> None:
    """Wrong calls get Varlink's errors, and do not affect other clients."""
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
        check(replies[0].get("error") == "org.varlink.service.InterfaceNotFound", f"there is no other interface: {replies}")
        info = service.call("GetInfo", False, "org.varlink.service")[0]["parameters"]
        check(info["interfaces"] == ["org.varlink.service", INTERFACE] and info["product"] == "hugeplan", str(info))
        described = service.call("GetInterfaceDescription", False, "org.varlink.service", {"interface": INTERFACE})
        check(f"interface {INTERFACE}\n" in described[0]["parameters"]["description"], str(described))
        with service.connect() as client:
            client.sendall(b"nonsense\0")
            check(client.recv(100) == b"", "the connection is closed after a message that is no JSON")
        check(len(service.call("List")) > 1, "other clients are served")


def test_flood(host: Host, fixture: str = "two-nodes-hole") -> None:
    """While many clients read metrics, each gets all of them, and a gate is not delayed."""
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
        silent = [service.connect() for _ in range(40)]
        expected = service.call("List")
        floods = [threading.Thread(target=flood, args=(service,)) for _ in range(8)]
        for each in floods:
            each.start()
        start = time.monotonic()
        done = host.ctl("wait", "pg")
        seconds = time.monotonic() - start
        check(done.returncode == 0 and seconds < 10, f"a gate: {seconds:.1f} s, {done.stderr}")
        check(service.call("List") == expected, "the metrics are unchanged")
        stop.set()
        for each in floods:
            each.join()
        for each in silent:
            each.close()
    check(len(counts) == 8 and min(counts) > 0, f"all clients are answered: {counts}")


def test_queries_once_a_second(host: Host, fixture: str = "one-node") -> None:
    """The daemon is queried at most once a second, however many clients read metrics."""
    fake = FakeDaemon(host, lambda _: b'{"error":"org.varlink.service.MethodNotImplemented"}')
    n = 0
    with serving(host) as service:
        start = time.monotonic()
        while time.monotonic() < start + 3 or n < 10:
            n += len(service.call("List")) > 1
        seconds = time.monotonic() - start
    n_queries = fake.calls.count("Describe")
    check(1 <= n_queries <= seconds + 1, f"{n} calls in {seconds:.1f} s, {n_queries} queries")


def test_slow_reader(host: Host, fixture: str = "eight-nodes") -> None:
    """A client that reads nothing does not delay others, and gets all metrics when it reads."""
    for i in range(120):
        host.config(f"{i:03}-db{i}.conf", "[Instance]\nPages=8\n")
    with serving(host) as service, service.connect() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        slow.sendall(json.dumps({"method": f"{INTERFACE}.List", "more": True}).encode() + b"\0")
        others = service.call("List")
        check(len(others) > 1000, f"{len(others)} metrics")
        check(len(replies_of(slow)) == len(others), "the slow client has all metrics")


def test_ends_unused(host: Host, fixture: str = "one-node") -> None:
    """The service ends when it has no client; systemd starts it again for the next one."""
    with serving(host, "1s") as service:
        client = service.connect()
        client.sendall(json.dumps({"method": f"{INTERFACE}.List", "more": True}).encode() + b"\0")
        replies_of(client)
        time.sleep(2.5)
        check(service.process.poll() is None, "the service stays while a client is connected")
        client.close()
        wait_until("the service's end", lambda: service.process.poll() is not None)
        check(service.process.returncode == 0, f"{service.process.returncode}: {service.log.read_text()}")


def test_follows_changes(host: Host, fixture: str = "one-node") -> None:
    """Metrics are not much older than a second."""
    host.config("20-pg.conf", "[Instance]\nPages=8\n")

    def wanted() -> dict[str, int]:
        return {each["object"]: each["value"] for each in
                (reply["parameters"] for reply in service.call("List")) if each["name"].endswith("WantedBytes")}

    with serving(host) as service:
        check(wanted() == {"pg": 8 << 21}, "one instance")
        host.config("30-more.conf", "[Instance]\nPages=4\n")
        wait_until("the second instance", lambda: wanted() == {"pg": 8 << 21, "more": 4 << 21})


def test_without_a_socket(host: Host, fixture: str = "one-node") -> None:
    """serve-metrics on a command line is refused with a hint, and --help does not list it."""
    expect(host.ctl("serve-metrics"), 2, "hugeplan-report.socket")
    check("serve-metrics" not in host.ctl("--help").stdout, "--help does not list serve-metrics")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.environ.pop("LISTEN_FDS", None)
    sys.exit(main(globals(), n_at_once=4))
