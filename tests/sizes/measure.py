#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the sizes that hugeplan computes with the memory that real servers request.

    tests/sizes/measure.py --meter LIBRARY --hugeplanctl PROGRAM [--settings N] [--seed N] [--cache DIR]
                           [--record FILE] [ENGINE[-VERSION]...]

Servers are fetched once, into the cache. Each version is measured with a grid of settings and with N random ones. It
is a failure if the server requests more than hugeplan's size, or if the size is more than 2 % and 8 pages above the
request. --record writes some of the measurements for the unit test; lines of other versions stay. """

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

# Before the imports: no __pycache__ in the source tree.
sys.dont_write_bytecode = True

from jvm import Jvm  # noqa: E402
from meter import Meter, Settings  # noqa: E402
from mysql import MariaDB, MySQL  # noqa: E402
from postgresql import PostgreSQL  # noqa: E402
from servers import Server, chosen, unpacked  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parent.parent))
from common import pages_said  # noqa: E402

PRODUCTS = {"jvm": Jvm, "mariadb": MariaDB, "mysql": MySQL, "postgresql": PostgreSQL}
PAGE = 2 << 20
ABOVE_SHARE, ABOVE_PAGES = 0.02, 8
SHOWN = 5
RECORDED_SHARE = 0.3


@dataclass
class Tally:
    """The results for one version."""

    under: list[str] = field(default_factory=list)
    far: list[str] = field(default_factory=list)
    exact: int = 0
    above: int = 0
    most: int = 0

    def add(self, settings: Settings, needed: int, said: int) -> None:
        text = f"{_text(settings)}: {needed} pages, the size is {said}"
        self.exact += said == needed
        self.above += said > needed
        self.most = max(self.most, said - needed)
        if said < needed:
            self.under.append(text)
        if said > needed * (1 + ABOVE_SHARE) + ABOVE_PAGES:
            self.far.append(text)

    def __str__(self) -> str:
        return (f"{self.exact + self.above + len(self.under)} settings: {len(self.under)} under, "
                f"{self.exact} exact, {self.above} above, by {self.most} pages at most")


def main() -> int:
    options = _parse_arguments()
    recorded: list[str] = []
    n_failed = 0
    servers = list(chosen(options.names))
    if not servers:
        sys.exit(f"there is no server {' '.join(options.names)}")
    for server in servers:
        tally = _measure(server, options, recorded)
        is_good = not tally.under and not tally.far
        n_failed += not is_good
        print(f"{'ok' if is_good else 'not ok'} - {server.engine} {server.version}: {tally}", flush=True)
        for text in (tally.under + tally.far)[:SHOWN]:
            print(f"#   {text}", flush=True)
    if options.record:
        lines = _lines_of_others(options.record, servers) + recorded
        options.record.write_text(_header() + "".join(f"{line}\n" for line in lines))
    print(f"{len(servers) - n_failed} passed, {n_failed} failed")
    return 1 if n_failed else 0


def _measure(server: Server, options: argparse.Namespace, recorded: list[str]) -> Tally:
    tally = Tally()
    directory = unpacked(server, options.cache)
    with tempfile.TemporaryDirectory(prefix="hugeplan-sizes-") as work:
        os.chmod(work, 0o755)
        product = PRODUCTS[server.engine](directory, server.version, Path(work), Meter(options.meter, Path(work)))
        chance = random.Random(f"{options.seed} {server.version}")
        for settings in product.grid() + [product.drawn(chance) for _ in range(options.settings)]:
            needed = product.bytes_of(settings)
            if needed is None:
                continue
            said = pages_said(options.hugeplanctl, server.engine, {"server_version": server.version, **settings})
            tally.add(settings, -(-needed // PAGE), said)
            if chance.random() < RECORDED_SHARE:
                recorded.append(f"{server.engine}\t{server.version}\t{_text(settings)}\t{needed}")
    return tally


def _text(settings: Settings) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _lines_of_others(record: Path, servers: list[Server]) -> list[str]:
    now = {(server.engine, server.version) for server in servers}
    lines = record.read_text().splitlines() if record.exists() else []
    return [line for line in lines if not line.startswith("#") and tuple(line.split("\t")[:2]) not in now]


def _header() -> str:
    return ("# SPDX-License-Identifier: LGPL-2.1-or-later\n"
            "# Made by tests/sizes/measure.py --record: engine, version, settings, bytes that the server requests.\n")


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--meter", type=Path, required=True)
    parser.add_argument("--hugeplanctl", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("/var/tmp/hugeplan-sizes"))
    parser.add_argument("--settings", type=int, default=300)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--record", type=Path)
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
