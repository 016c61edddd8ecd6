#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The size that hugeplanctl determines for MySQL, compared with servers on real huge pages of 2M.

usage: HUGEPLAN_LIVE=1 test_mysql.py HUGEPLANCTL [CACHE]

The servers, of 200 MiB each, are fetched by tests/sizes/measure.py into its cache, so `meson test` does not run this.
For each version: with the pages of `hugeplanctl size mysql` the buffer pool is in huge pages, and at most a few pages are
left. With exactly the pages that MySQL took, the same is true; with one page fewer a part of the pool is in small pages.
Needs what test_live.py needs; skips (77).
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Said before the imports: no __pycache__ in the source tree.
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "sizes"))

import test_live  # noqa: E402
from meter import Settings, started  # noqa: E402
from shared import no_surplus, pools_locked, reserved, server, wait_until  # noqa: E402
from test_live import check_size  # noqa: E402

from common import SKIP, check, pages_said, passes  # noqa: E402

CACHE = pathlib.Path("/var/tmp/hugeplan-sizes")
PATIENCE = 120.0
CASES: tuple[Settings, ...] = (
    {"innodb_buffer_pool_size": "128M"},
    {"innodb_buffer_pool_size": "200M", "innodb_buffer_pool_chunk_size": "64M"},
    {"innodb_buffer_pool_size": "1G", "innodb_buffer_pool_instances": "2"},
    {"innodb_buffer_pool_size": "1100M"},
)


class Server:
    """A version of MySQL with a data directory."""

    def __init__(self, directory: pathlib.Path, work: pathlib.Path) -> None:
        self.version = directory.name.removeprefix("mysql-")
        self.log = work / "log"
        program = next(path for path in directory.glob("**/*bin/mysqld") if not path.is_symlink())
        messages = next(directory.glob("**/english/errmsg.sys")).parent.parent
        self._command = [*started(directory, program), "--no-defaults", "--user=root", f"--datadir={work}/data",
                         f"--tmpdir={work}", f"--lc-messages-dir={messages}", "--secure-file-priv="]
        with self.log.open("wb") as log:
            subprocess.run([*self._command, "--initialize-insecure"], check=True, stdout=log, stderr=log)
        self._command += ["--skip-networking", "--mysqlx=OFF", f"--socket={work}/socket", f"--pid-file={work}/pid",
                          "--large-pages"]

    def taken(self, settings: Settings) -> int:
        options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        with server("MySQL", [*self._command, *options], self.log, PATIENCE, subprocess.Popen.terminate):
            pages = reserved()
        wait_until("the pages are given back", lambda: reserved() == 0, PATIENCE)
        return pages


def check_case(hugeplanctl: str, mysql: Server, settings: Settings) -> str:
    said = pages_said(hugeplanctl, "mysql", {"server_version": mysql.version, "host_cpus": str(os.cpu_count()), **settings})
    pages = check_size(said, lambda: mysql.taken(settings))
    check((fewer := mysql.taken(settings)) < pages - 1, f"with {pages - 1} pages MySQL takes {fewer}")
    return f"{pages} pages, the size is {said}"


def run_cases(hugeplanctl: str, directory: pathlib.Path) -> int:
    with tempfile.TemporaryDirectory(prefix="hugeplan-live-") as work:
        mysql = Server(directory, pathlib.Path(work))
        return sum(not passes(f"MySQL {mysql.version}: " + " ".join(map("=".join, settings.items())),
                              functools.partial(check_case, hugeplanctl, mysql, settings)) for settings in CASES)


def main() -> int:
    cache = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else CACHE
    servers = sorted(path for path in cache.glob("mysql-*") if re.fullmatch(r"mysql-[0-9.]*[0-9]", path.name))
    reason = test_live.why_not() or (None if servers else f"no MySQL was fetched into {cache}; tests/sizes/measure.py does")
    if reason:
        print(f"skipped: {reason}")
        return SKIP
    with pools_locked(), test_live.host_as_it_was(), no_surplus():
        n_failed = sum(run_cases(str(pathlib.Path(sys.argv[1]).resolve()), directory) for directory in servers)
    print(f"MySQL: {len(servers)} versions with {len(CASES)} cases, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
