#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""On the snapshot of each case's host, unpacked, hugeplanctl prints the same as on the host. A snapshot contains only
what parsers use: neither secrets of many kinds, nor words that were planted in every file. The snapshot of a host
that changes meanwhile is whole, too.

usage: run_snapshot.py --hugeplanctl=PROGRAM --plain-hugeplanctl=PROGRAM [CASE...]

The plain program, without sanitizers, prints; the other one takes the snapshots with planted words. """

from __future__ import annotations

import concurrent.futures
import itertools
import os
import pathlib
import random
import re
import string
import subprocess
import sys
import threading
import time

import common
import run_cases
import unpack_host
from run_daemon import replace

CHANGES = 3
LOOKS = ["status", "plan", "check", "cmdline", "import", "report"]  # a report has what verify finds


def run(program: pathlib.Path, root: pathlib.Path, *arguments: str) -> str:
    # Not in "/": qemu-user takes "proc/N" there for its own process if its pid is N.
    done = common.run(program, *arguments, root=root, cwd=root.parent)
    return run_cases.as_text(done.stdout, done.stderr, done.returncode, root)


def take(program: pathlib.Path, root: pathlib.Path) -> pathlib.Path:
    """The snapshot of ROOT, unpacked."""
    archive, copy = root.with_name("snapshot.tar"), root.with_name("copy")
    said = run(program, root, "snapshot", str(archive))
    if not said.endswith("--- exit 0\n"):
        raise AssertionError(f"{root}: {said}")
    if archive.stat().st_mode & 0o777 != 0o600:
        raise AssertionError("other users may read the snapshot")
    # Both GNU tar and Python's tarfile must read the archive.
    subprocess.run(["tar", "-tf", str(archive)], check=True, capture_output=True)
    copy.mkdir()
    unpack_host.unpack(archive, copy)
    return copy


# ---- words that no parser uses ----

SEED = int(os.environ.get("HUGEPLAN_SEED", "4711"))


class Words:
    """Makes random words, and records them."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.made: list[str] = []

    def __call__(self) -> str:
        letters = self.random.choice([string.ascii_lowercase, string.digits, string.ascii_letters + string.digits])
        parts = ["".join(self.random.choices(letters, k=9)).replace("hu", "uh") for _ in range(self.random.randint(1, 2))]
        self.made += parts
        return self.random.choice("/.:@-_+").join(parts)


def planted_lines(word: Words) -> list[str]:
    """Lines for a file that is read line by line."""
    return [f"# {word()} password={word()} shared_buffers={word()} huge_pages = {word()}", f"; {word()}",
            f"q{re.sub('[^a-zA-Z0-9]', '_', word())} = '{word()}'", f"key_pw='{word()}'", f"my.api_key = 'https://me:{word()}@host/{word()}/{word()}'",
            f"webhook = 'https://hooks.example.org/services/{word()}/{word()}'"]


def plant_in_text(path: str, text: str, word: Words) -> str:
    lines = text.splitlines()
    if "/hugeplan.d/" in path:  # other lines than comments would be reported as mistakes
        places, extra = [0, len(lines)], [f"# {word()}", f"; {word()}"]
    elif path.endswith((".yml", ".yaml")):
        places, extra = [len(lines)], ["q:", f"- {word()}", f"  - {word()}", f"q_{word()}:", f"    key_pw: {word()}",
                                       f"    - {{a: {word()}, b: [{word()}, '{word()}']}}"]
    elif "\n[Service]\n" in f"\n{text}\n":
        places = [lines.index("[Service]") + 1]
        lines = [f"{line} --q-key {word()} -Dpw={word()} --q=u:{word()}" if re.match("ExecStart=.*[^\\\\\"';]$", line) else line
                 for line in lines]
        extra = [f"Environment=Q_{word()}={word()} \"B_PW={word()} {word()}\" 'C={word()}'", f"# ExecStart={word()}",
                 f"X-Q={word()}", f"ExecStopPost=/bin/false {word()}",
                 f"ExecStartPost=/usr/bin/curl -u a:{word()} --key {word()} -Dpw={word()} https://hooks.q/{word()} \\",
                 f"    --header 'X-Q: {word()}' /usr/bin/sqlplus sys/{word()}@q jdbc:oracle:thin:u/{word()}@//q/{word()}"]
    elif text.startswith("#!"):
        places = [1, len(lines)]
        extra = [f"Q_PW={word()} curl -u 'a:{word()}' --key {word()} https://me:{word()}@q/{word()}", f"# {word()}",
                 f"export Q_TOKEN={word()}", f"echo {word()} | sqlplus sys/{word()}@q > /dev/null 2>&1"]
    elif path.endswith("passwd") or path.endswith("group"):
        places, extra = [len(lines)], ["q:{}:77777:77777:{}".format(*(word().split(":")[0] for _ in range(2)))]
    elif re.search(r"/(oratab|nsswitch.conf|PG_VERSION|[a-z_]*upgrade_[a-z]*|release)$", path):
        places, extra = [len(lines)], [f"# {word()}"]
    else:
        places, extra = [0, len(lines)], planted_lines(word)
        if path.endswith("postgresql.conf"):
            del extra[1]  # ';' begins no comment in postgresql.conf
    for place in sorted(places, reverse=True):
        lines[place:place] = extra
    return "".join(f"{line}\n" for line in lines)


def plant(path: str, contents: bytes, word: Words) -> bytes:
    """CONTENTS of the file PATH, with words that no parser uses."""
    if re.fullmatch(r"/proc/\d+/cmdline", path) and contents:
        return contents + b"".join(f"{one}\0".encode() for one in
                                   ("--key", word(), f"-Dpw={word()}", f"--q={word()}", f"https://me:{word()}@q/{word()}", word()))
    if path == "/proc/cmdline":
        return contents.rstrip(b"\n") + f" q.key={word()} rd.q={word()} {word()}\n".encode()
    if path.endswith("/mountinfo"):
        return contents + f"41 22 0:50 / /mnt/q rw shared:9 - cifs //q/{word()} rw,username=q,password={word()}\n".encode()
    if re.fullmatch(r"/proc/\d+/maps", path):
        return contents + f"7fff00000000-7fff00001000 r--p 00000000 fe:00 131 /home/{word()} {word()}\n".encode()
    if re.fullmatch(r"/proc/\d+/status", path) and contents:
        return contents + f"Q:\t{word()}\n".encode()
    if path.endswith("/mysqld-auto.cnf"):
        return contents.replace(b"{", f'{{"q_key": {{"Value": "{word()}"}}, "q": ["{word()}"], '.encode(), 1)
    # hugeplan's own files are not valid with further words.
    if path.endswith(("/.boots", "/hugeplan/ledger", "/hugeplan/boot-uncounted")):
        return contents
    if path.endswith("_profile") or path.startswith(("/proc/", "/sys/")) or b"\0" in contents or not contents or contents.startswith(b"{"):
        return contents
    try:
        return plant_in_text(path, contents.decode(), word).encode()
    except UnicodeDecodeError:
        return contents


def check_words(program: pathlib.Path, plain: pathlib.Path, case: pathlib.Path) -> list[str]:
    problems = []
    word = Words(f"{SEED} {case.name}")
    with common.root_of(case) as root:
        for file in sorted(root.rglob("*")):
            if file.is_file() and not file.is_symlink() and "hugeplan.conf" not in file.name:
                file.write_bytes(plant(f"/{file.relative_to(root)}", file.read_bytes(), word))
        copy = take(program, root)
        archive = root.with_name("snapshot.tar").read_bytes()
        if found := [one for one in word.made if one.encode() in archive]:
            files = [str(file.relative_to(copy)) for file in copy.rglob("*") if file.is_file() and not file.is_symlink()
                     and any(one.encode() in file.read_bytes() for one in found)]
            problems.append(f"{case.name}: {len(found)} of {len(word.made)} words are kept (seed {SEED}): {found[:3]} in {files}\n")
        for look in ("check", "import"):
            problems += run_cases.compare(f"{case.name}, planted: {look}", run(plain, root, look), run(plain, copy, look))
    return problems


def check_case(program: pathlib.Path, plain: pathlib.Path, case: pathlib.Path) -> list[str]:
    problems = check_words(program, plain, case)
    with common.root_of(case) as root:
        copy = take(plain, root)
        names = re.findall('^ {6}"name": "(.*)"', run(plain, root, "status", "--json"), re.MULTILINE)[:10]
        for look in [*zip(LOOKS), *itertools.product(("explain", "size"), names)]:
            problems += run_cases.compare(f"{case.name}: {look}", run(plain, root, *look), run(plain, copy, *look))
    return problems


# ---- secrets ----

SECRET = "hunter2"
PLANTED = {
    "/etc/mysql/my.cnf": "[client]\npassword = hunter2 and more hunter2\n[mysqld]\n# password hunter2\n"
                         "large-pages\ninnodb_buffer_pool_size = 1G\nwsrep_sst_auth=user:hunter2\n"
                         "init_connect = \"SET PASSWORD FOR x = 'hunter2'\"\nkey_pw=hunter2\nssl-key=/hunter2\nproxy = 'x?user=hunter2&mysql:hunter2@x'\n"
                         "report_user = hunter2\ninit_file = user:hunter2\nuser = mysql # hunter2\n",
    "/usr/lib/systemd/system/mariadb.service":
        "[Service]\nUser=mysql\nEnvironment=\"PGPASSWORD=hunter2 hunter2\" MYSQL_PWD=hunter2 API_KEY='hunter2'\n"
        "ExecStart=/usr/sbin/mariadbd --password hunter2 -phunter2 --large-pages --loose-token=hunter2 "
        "hunter2 --key hunter2 --init-file /hunter2 -Dpw=hunter2\n"
        "ExecStartPre=/usr/bin/curl -u a:hunter2 -H 'X: hunter2' https://hooks.example.org/T0/B0/hunter2 \\\n"
        "    --data hunter2\nExecStartPost=-/bin/sh -c 'sqlplus sys/hunter2@orcl as sysdba; mail -s hunter2 x < /tmp/hunter2'\n"
        "ExecStopPost=/usr/bin/env TOKEN=hunter2 x\n# hunter2\n; hunter2\nX-Note=hunter2\nSetCredential=a:hunter2\n",
    "/etc/postgresql/15/main/postgresql.conf":
        "data_directory = '/var/lib/postgresql/15/main'\nshared_buffers = 2GB\nhuge_pages = on # was hunter2, password\n"
        "primary_conninfo = 'host=a user=b password=hunter2 port=5432'\n"
        "archive_command = 'curl -s https://me:hunter2@example.org/%f'\n"
        "restore_command = 'PGPASSWORD=hunter2 x'\nssl_passphrase_command = 'echo hunter2'\n"
        "local_preload_libraries = 'a'\nssl_key_file = '/hunter2'\ncluster_name = 'hunter2'\n"
        "ldap.bind = 'jdbc:postgresql://hunter2:hunter2@x/y?password=hunter2'\nmy.pin = 'hunter2'\n",
    "/etc/patroni/patroni.yml":
        "scope: hunter2\nrestapi:\n  authentication:\n    username: hunter2\n    password: \"hunter2\"\ntokens:\n- hunter2\n"
        "keys:\n  - hunter2\n  -\n    hunter2\npostgresql:\n  data_dir: /var/lib/postgresql/15/main\n  bin_dir: /usr/lib/postgresql/15/bin\n"
        "  authentication:\n    replication: {username: a, password: hunter2}\n  pgpass: |\n    *:*:*:a:hunter2\n"
        "  callbacks:\n    on_start: curl -u a:hunter2 https://me:hunter2@x/hunter2\n",
    "/etc/systemd/system/patroni.service": "[Service]\nUser=postgres\nExecStart=/usr/bin/patroni /etc/patroni/patroni.yml\n",
    "/etc/postgresql/15/main/start.conf": "auto\n",
    "/var/lib/postgresql/15/main/PG_VERSION": "15\n",
    "/var/lib/postgresql/15/main/postgresql.auto.conf":
        "max_connections = 500\nprimary_conninfo = 'password=hunter2'\n",
    "/etc/default/java": "JAVA_OPTS=\"-Xmx1g -Dkey.password=hunter2 -Djavax.net.ssl.trustStorePassword='hunter2' -XX:+UseLargePages\"\n"
                         "SECRET_KEY=hunter2\nURL=jdbc:oracle:thin:u/hunter2@//x/y\nHOOK=https://hooks.example.org/services/T0/B0/hunter2\n"
        "JAVA_TOOL_OPTIONS=\"-Dpw=hunter2 -javaagent:/hunter2=key:hunter2 -XX:OnError='curl -u a:hunter2 x'\"\n",
    "/etc/systemd/system/java.service": "[Service]\nEnvironmentFile=/etc/default/java\n"
                                        "ExecStart=/usr/bin/java $JAVA_OPTS -Dpw=hunter2 -jar a.jar --secret=hunter2 --key hunter2 hunter2\n",
    "/etc/systemd/system/setup.service": "[Service]\nExecStart=/usr/local/sbin/setup.sh\n",
    "/usr/local/sbin/setup.sh": "#!/bin/sh\nexport DB_PASSWORD=hunter2\nmysql -uroot -phunter2 -e 'x'\n"
                                "cat > /x <<E\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\nE\n"
                                "psql -c \"ALTER USER x IDENTIFIED BY 'hunter2'\"\n"
                                "vault:\n  token: |\n    hunter2\n    hunter2\n"
                                "TOKEN=abc \\\n  hunter2\n"
                                "curl -u a:hunter2 -d '{\"text\": \"hunter2\"}' https://hooks.example.org/services/T0/hunter2 && hugeadm --pool-pages-min 2M:7000\n"
                                "sqlplus -s sys/hunter2@//x/y as sysdba\nX=${PW:-hunter2}\nmysql --defaults-extra-file=<(printf hunter2)\n"
                                "vault login -method=userpass username=a password=hunter2; vault kv get -field hunter2\n",
    "/etc/sysctl.d/70-x.conf": "# hunter2\nvm.swappiness = 10\nkernel.core_pattern = |/hunter2\nvm.nr_hugepages = 30\n",
    "/etc/tmpfiles.d/x.conf": "f /run/x 0600 root root - hunter2\nw /sys/kernel/mm/transparent_hugepage/enabled - - - - never\n",
    "/etc/crontab": "* * * * * root sshpass -p hunter2 ssh x\n@reboot root sysctl vm.nr_hugepages=20\n",
    "/etc/passwd": "root:hunter2:0:0:hunter2:/root:/bin/sh\npostgres:x:112:117::/var/lib/postgresql:/bin/sh\n",
    "/etc/group": "root:hunter2:0:\n",
    "/proc/812/cmdline": "/usr/sbin/mariadbd\0--password=hunter2\0-phunter2\0--large-pages\0--secret\0hunter2\0hunter2\0-Dpw=hunter2\0"
                         "--init-file\0/hunter2\0",
    "/proc/812/status": "Name:\tmariadbd\nPPid:\t1\nUid:\t112\t112\t112\t112\nVmPeak:\t 100 kB\n",
    "/proc/813/cmdline": "sshpass\0-p\0hunter2\0ssh\0",
    "/proc/813/status": "Name:\tsshpass\nPPid:\t1\n",
    "/proc/814/cmdline": "/usr/lib/jvm/x/bin/java\0-Xmx1g\0-Dpw=hunter2\0-jar\0/a.jar\0--key\0hunter2\0jdbc:oracle:thin:u/hunter2@x\0",
    "/proc/814/status": "Name:\tjava\nPPid:\t1\nUid:\t112\t112\t112\t112\nVmPeak:\t 100 kB\n",
    "/etc/oratab": "# hunter2\norcl:/u01/home:Y # hunter2\n",
    "/u01/home/dbs/initorcl.ora": "*.sga_max_size=1G\n*.some_password='hunter2'\n*.dispatchers='(PROTOCOL=TCP)(KEY=hunter2)'\n"
                                 "orcl.hunter2=hunter2\n# hunter2\n*.db_name=hunter2\n",
}


def check_secrets(program: pathlib.Path, plain: pathlib.Path) -> list[str]:
    problems = []
    with common.root_of("import-sysctl") as root:
        for path, text in PLANTED.items():
            file = root / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        copy = take(program, root)
        if "already exists" not in run(program, root, "snapshot", str(root.with_name("snapshot.tar"))):
            problems.append("an existing file was overwritten\n")
        for path in PLANTED:
            file = copy / path.lstrip("/")
            if not file.is_file():
                problems.append(f"{path} is not in the snapshot, so the test proves nothing about it\n")
            elif SECRET in file.read_text(encoding="utf-8"):
                problems.append(f"{path}: {[line for line in file.read_text().splitlines() if SECRET in line]}\n")
        if SECRET.encode() in root.with_name("snapshot.tar").read_bytes():
            problems.append("the archive has a secret\n")
        # The other verbs would print lines that contain the secret.
        for look in ("plan", "import"):
            problems += run_cases.compare(f"secrets: {look}", run(plain, root, look), run(plain, copy, look))
    return problems


# ---- a host that changes ----

COUNTS = "sys/devices/system/node/node0/hugepages/hugepages-2048kB"


def change(root: pathlib.Path, stop: threading.Event) -> None:
    """Changes pools, processes and files of the configuration every millisecond."""
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


def check_changing(program: pathlib.Path, plain: pathlib.Path) -> list[str]:
    """The archive of a changing host has each file once, and counts that were there at some moment."""
    problems = []
    for n in range(CHANGES):
        with common.root_of("verify") as root:
            stop = threading.Event()
            changing = threading.Thread(target=change, args=(root, stop))
            changing.start()
            try:
                copy = take(program, root)
            finally:
                stop.set()
                changing.join()
            names = subprocess.run(["tar", "-tf", root.with_name("snapshot.tar")], check=True, capture_output=True,
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
    arguments = common.parser(__doc__, "hugeplanctl", "plain-hugeplanctl", rest="cases").parse_args()
    program, plain = arguments.hugeplanctl, arguments.plain_hugeplanctl
    cases = run_cases.cases_named(arguments.cases)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for found in pool.map(lambda case: check_case(program, plain, case), cases)
                    for problem in found] + check_secrets(program, plain) + check_changing(program, plain)
    sys.stdout.write("".join(problems) + f"{len(cases)} snapshots, {len(problems)} problems\n")
    return 1 if problems or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
