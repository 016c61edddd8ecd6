#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A snapshot of every case's host, unpacked, answers as the host itself does; and nothing that was planted as a secret
is in it, anywhere. Of a host that changes meanwhile it is whole, too.

usage: run_snapshot.py --hugeplanctl=PROGRAM [--plain-hugeplanctl=PROGRAM] [CASE...]

The plain one, without sanitizers, answers; the other takes the snapshots.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading
import time

import run_cases
import unpack_host
from run_daemon import replace

WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
CHANGES = 3
LOOKS = ["status", "plan", "verify", "check", "cmdline", "suggest", "import", "report"]


def run(program: pathlib.Path, root: pathlib.Path, *arguments: str) -> str:
    done = subprocess.run([*WRAPPER, str(program), f"--root={root}", *arguments], check=False, cwd="/",
                          capture_output=True, text=True, timeout=60, env=run_cases.ENVIRONMENT)
    return run_cases.as_text(done.stdout, done.stderr, done.returncode, root)


def take(program: pathlib.Path, root: pathlib.Path, directory: pathlib.Path) -> pathlib.Path:
    """The snapshot of ROOT, unpacked."""
    archive, copy = directory / "snapshot.tar", directory / "copy"
    said = run(program, root, "snapshot", str(archive))
    if not said.endswith("--- exit 0\n"):
        raise AssertionError(f"{root}: {said}")
    if "is there already" not in run(program, root, "snapshot", str(archive)):
        raise AssertionError("the snapshot was written over")
    if archive.stat().st_mode & 0o777 != 0o600:
        raise AssertionError("others may read the snapshot")
    # GNU tar and Python's own have to agree about the format.
    subprocess.run(["tar", "-tf", str(archive)], check=True, capture_output=True)
    copy.mkdir()
    unpack_host.unpack(archive, copy)
    return copy


def check_case(program: pathlib.Path, plain: pathlib.Path, case: pathlib.Path) -> list[str]:
    problems = []
    with tempfile.TemporaryDirectory(prefix="hugeplan-snapshot-") as name:
        directory = pathlib.Path(name).resolve()
        root = directory / "root"
        root.mkdir()
        run_cases.make_root(case, root)
        copy = take(program, root, directory)
        for look in LOOKS:
            problems += run_cases.compare(f"{case.name}: {look}", run(plain, root, look), run(plain, copy, look))
    return problems


# ---- secrets ----

SECRET = "hunter2"
PLANTED = {
    "/etc/mysql/my.cnf": "[client]\npassword = hunter2 and more hunter2\n[mysqld]\n# password hunter2\n"
                         "large-pages\ninnodb_buffer_pool_size = 1G\nwsrep_sst_auth=user:hunter2\n"
                         "init_connect = \"SET PASSWORD FOR x = 'hunter2'\"\n",
    "/usr/lib/systemd/system/mariadb.service":
        "[Service]\nUser=mysql\nEnvironment=\"PGPASSWORD=hunter2 hunter2\" MYSQL_PWD=hunter2 API_KEY='hunter2'\n"
        "ExecStart=/usr/sbin/mariadbd --password hunter2 -phunter2 --large-pages --loose-token=hunter2\n",
    "/etc/postgresql/15/main/postgresql.conf":
        "data_directory = '/var/lib/postgresql/15/main'\nshared_buffers = 2GB\nhuge_pages = on # was hunter2, password\n"
        "primary_conninfo = 'host=a user=b password=hunter2 port=5432'\n"
        "archive_command = 'curl -s https://me:hunter2@example.org/%f'\n"
        "restore_command = 'PGPASSWORD=hunter2 x'\nssl_passphrase_command = 'echo hunter2'\n"
        "local_preload_libraries = 'a'\n",
    "/etc/postgresql/15/main/start.conf": "auto\n",
    "/var/lib/postgresql/15/main/PG_VERSION": "15\n",
    "/var/lib/postgresql/15/main/postgresql.auto.conf":
        "max_connections = 500\nprimary_conninfo = 'password=hunter2'\n",
    "/etc/default/java": "JAVA_OPTS=\"-Xmx1g -Dkey.password=hunter2 -Djavax.net.ssl.trustStorePassword='hunter2' -XX:+UseLargePages\"\n"
                         "SECRET_KEY=hunter2\n",
    "/etc/systemd/system/java.service": "[Service]\nEnvironmentFile=/etc/default/java\n"
                                        "ExecStart=/usr/bin/java $JAVA_OPTS -jar a.jar --secret=hunter2\n",
    "/etc/systemd/system/setup.service": "[Service]\nExecStart=/usr/local/sbin/setup.sh\n",
    "/usr/local/sbin/setup.sh": "#!/bin/sh\nexport DB_PASSWORD=hunter2\nmysql -uroot -phunter2 -e 'x'\n"
                                "cat > /x <<E\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\nE\n"
                                "psql -c \"ALTER USER x IDENTIFIED BY 'hunter2'\"\n"
                                "vault:\n  token: |\n    hunter2\n    hunter2\n"
                                "TOKEN=abc \\\n  hunter2\n"
                                "hugeadm --pool-pages-min 2M:7000\n",
    "/etc/crontab": "* * * * * root sshpass -p hunter2 ssh x\n@reboot root sysctl vm.nr_hugepages=20\n",
    "/etc/passwd": "root:hunter2:0:0:hunter2:/root:/bin/sh\npostgres:x:112:117::/var/lib/postgresql:/bin/sh\n",
    "/etc/group": "root:hunter2:0:\n",
    "/proc/812/cmdline": "/usr/sbin/mariadbd\0--password=hunter2\0-phunter2\0--large-pages\0--secret\0hunter2\0",
    "/proc/812/status": "Name:\tmariadbd\nPPid:\t1\nUid:\t112\t112\t112\t112\nVmPeak:\t 100 kB\n",
    "/proc/813/cmdline": "sshpass\0-p\0hunter2\0ssh\0",
    "/proc/813/status": "Name:\tsshpass\nPPid:\t1\n",
    "/etc/oratab": "orcl:/u01/home:Y\n",
    "/u01/home/dbs/initorcl.ora": "*.sga_max_size=1G\n*.some_password='hunter2'\n",
}


def check_secrets(program: pathlib.Path) -> list[str]:
    problems = []
    with tempfile.TemporaryDirectory(prefix="hugeplan-snapshot-") as name:
        directory = pathlib.Path(name).resolve()
        root = directory / "root"
        root.mkdir()
        run_cases.make_root(run_cases.HERE / "cases" / "import-sysctl", root)
        for path, text in PLANTED.items():
            file = root / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        copy = take(program, root, directory)
        for path in PLANTED:
            file = copy / path.lstrip("/")
            if not file.is_file():
                problems.append(f"{path} was not read: nothing is proved by it\n")
            elif SECRET in file.read_text(encoding="utf-8"):
                problems.append(f"{path}: {[line for line in file.read_text().splitlines() if SECRET in line]}\n")
        if SECRET.encode() in (directory / "snapshot.tar").read_bytes():
            problems.append("the archive has a secret\n")
        # What was left out was needed by nobody, but for what has the secret in it itself.
        for look in ("plan", "suggest", "import"):
            problems += run_cases.compare(f"secrets: {look}", run(program, root, look), run(program, copy, look))
    return problems


# ---- a host that does not hold still ----

COUNTS = "sys/devices/system/node/node0/hugepages/hugepages-2048kB"


def change(root: pathlib.Path, stop: threading.Event) -> None:
    """Pools, processes and files of the configuration, as fast as that goes."""
    server, gone = root / "proc/812", root / "gone"
    for i in itertools.count():
        if stop.is_set():
            break
        for name in ("nr_hugepages", "free_hugepages"):
            replace(root / COUNTS / name, f"{1800 + i % 7}\n")
        here, there = (server, gone) if i % 2 == 0 else (gone, server)
        if here.exists():
            here.rename(there)
        extra = root / "etc/hugeplan.d/95-extra.conf"
        replace(extra, f"[Instance]\nPages={1 + i % 5}\n")
        if i % 3 == 0:
            extra.unlink()
        time.sleep(0.001)


def check_changing(program: pathlib.Path) -> list[str]:
    """Which of its states the host was in nobody can say; but the archive is one, and is told to be."""
    problems = []
    for n in range(CHANGES):
        with tempfile.TemporaryDirectory(prefix="hugeplan-snapshot-") as name:
            directory = pathlib.Path(name).resolve()
            root = directory / "root"
            root.mkdir()
            run_cases.make_root(run_cases.HERE / "cases" / "verify", root)
            stop = threading.Event()
            changing = threading.Thread(target=change, args=(root, stop))
            changing.start()
            try:
                copy = take(program, root, directory)
            finally:
                stop.set()
                changing.join()
            names = subprocess.run(["tar", "-tf", str(directory / "snapshot.tar")], check=True, capture_output=True,
                                   text=True).stdout.splitlines()
            problems += [f"changing {n}: {path} is there twice\n" for path in {path for path in names if names.count(path) > 1}]
            count = (copy / COUNTS / "nr_hugepages").read_text(encoding="utf-8")
            if not 1800 <= int(count) < 1807:
                problems.append(f"changing {n}: a pool of {count}")
            for look in LOOKS:
                said = run(program, copy, look)
                if not said.endswith(("--- exit 0\n", "--- exit 3\n", "--- exit 1\n")) or "Sanitizer" in said:
                    problems.append(f"changing {n}: {look}: {said}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hugeplanctl", type=pathlib.Path, required=True)
    parser.add_argument("--plain-hugeplanctl", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    program = arguments.hugeplanctl.resolve()
    plain = (arguments.plain_hugeplanctl or program).resolve()
    cases = run_cases.cases_named(arguments.cases)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for found in pool.map(lambda case: check_case(program, plain, case), cases)
                    for problem in found] + check_secrets(program) + check_changing(program)
    sys.stdout.write("".join(problems) + f"{len(cases)} snapshots, {len(problems)} problems\n")
    return 1 if problems or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
