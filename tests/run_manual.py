#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples in the manual pages agree with the programs: commands are run, files are checked, JSON is validated by
its schema, and columns and labels of tables are compared. An example of an unknown kind is a failure.

usage: run_manual.py --hugeplanctl=PROGRAM
"""

from __future__ import annotations

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable

import common

SOURCE = common.HERE.parent
BLOCK = re.compile(r"^\t*```\n(.*?)^\t*```$", re.MULTILINE | re.DOTALL)
# "# /etc/hugeplan.d/20-pg.conf", and what follows up to the next one.
FILE = re.compile(r"^# (\S+[/.]\S+)\n(.*?)(?=^# \S+/\S+\n|\Z)", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"^ {0,9}([A-Z][a-z]+(?: [a-z]+)?): ")
HEADER = re.compile(r"^[A-Z]+(?: +[A-Z]+){2,}$")
# Commands of other programs are only parsed by a shell.
OTHERS = ("systemctl", "journalctl", "postgres", "dpdk-testpmd", "grep", "tuned-adm", "mkdir", "ln", "varlinkctl", "S=", "exec", "editor", "cp",
          "/usr/lib/systemd/system-generators/hugeplan-generator", "tar", "cd", "jq", "cat", "curl", "'{")
# The sources, with strings of several lines joined.
SOURCES = re.sub(r'" "', "", " ".join(" ".join(path.read_text(encoding="utf-8").split())
                                      for path in sorted((SOURCE / "src").rglob("*.c"))))
HOSTS = ("verify", "busy", "running", "learned", "found-postgresql")
TOKENS = {"pg-main": "pg", "/root/host.tar": "host.tar", "/tmp/draft": "draft", "/tmp/db7": "db7", "host": "host"}
STAND_ALONE = ("size",)


class Program:
    def __init__(self, path: pathlib.Path, directory: pathlib.Path) -> None:
        self.path, self.roots = path, {}
        for case in HOSTS:
            root = self.roots[case] = directory / case
            root.mkdir()
            common.make_root(case, root)
            for name in ("draft", "db7"):
                (root / name).mkdir()
        self.said: set[str] = set()  # column titles, joined, and labels
        for case, root in self.roots.items():
            for words in ("status", "status --all", "verify", "plan", "cmdline", "size oracle -c sga_max_size=180G"):
                self.note(self.run(shlex.split(words), case).stdout)
            for instance in json.loads(self.run(["status", "--json"], case).stdout)["instances"]:
                for verb in ("verify", "status", "explain"):
                    self.note(self.run([verb, instance["name"]], case).stdout)

    def run(self, words: list[str], case: str) -> subprocess.CompletedProcess[str]:
        root = self.roots[case]
        words = [word for word in words if not word.startswith("--root=")]
        return common.run(self.path, *words, root=root)

    def note(self, text: str) -> None:
        for line in text.splitlines():
            if HEADER.match(line):
                self.said.add(" ".join(line.split()))
            if match := LABEL.match(line):
                self.said.add(match[1])


def commands_in(text: str) -> list[list[str]]:
    """The words of each command in TEXT, which a shell would split at "|", "&&" and ";"."""
    joined = re.sub(r"\\?\n[ \t]+", " ", text)
    commands: list[list[str]] = []
    for line in joined.splitlines():
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        command: list[str] = []
        for word in lexer:
            if set(word) <= set("|&;"):
                commands.append(command)
                command = []
            else:
                command.append(word)
        commands.append(command)
    return [command for command in commands if command]


def wrong_command(program: Program, command: list[str]) -> list[str]:
    words = [TOKENS.get(word, word) for word in command[1:]]
    words = [re.sub(r"/tmp/draft", "draft", word) for word in words]
    done = program.run(words, "verify")
    if done.returncode in (2, 4) and not any(word in ("orders", "reports", "pg") for word in words):
        return [f"{shlex.join(command)}: exit {done.returncode}: {done.stderr}"]
    if done.returncode == 2 or (words and words[0] in STAND_ALONE and done.returncode != 0):
        return [f"{shlex.join(command)}: exit {done.returncode}: {done.stderr}"]
    return []


def wrong_commands(program: Program, text: str) -> list[str] | None:
    """The problems of the commands in TEXT; None if TEXT has other lines, too."""
    try:
        commands = commands_in(text)
    except ValueError:
        return None
    if not all(command[0] == "hugeplanctl" or command[0].startswith(OTHERS) or command[0] == "exit"
               for command in commands):
        return None
    check = subprocess.run(["bash", "-n"], input=text, check=False, capture_output=True, text=True)
    problems = [check.stderr] if check.returncode else []
    for command in commands:
        if command[0] == "hugeplanctl":
            problems += wrong_command(program, command)
    return problems + wrong_names(text)


def wrong_names(text: str) -> list[str]:
    """Methods of Varlink and fields of the journal that do not exist."""
    interface = (SOURCE / "src/ipc/org.hugeplan.Manager.varlink").read_text(encoding="utf-8")
    fields = "".join((SOURCE / "src/status" / name).read_text(encoding="utf-8") for name in ("history.c", "history.h"))
    return ([f"there is no method {name}" for name in re.findall(r"org\.hugeplan\.Manager\.(\w+)", text)
             if f"\nmethod {name}(" not in interface]
            + [f"there is no field {name}" for name in re.findall(r"\b(HUGEPLAN_\w+)=", text) if f'"{name}"' not in fields])


def wrong_output(program: Program, text: str) -> list[str]:
    """The problems of a session. Output that does not depend on the host is compared as a whole, else columns and
    labels."""
    problems: list[str] = []
    for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        line, _, answer = part.partition("\n")
        command = shlex.split(line.removeprefix("$ "))
        if line.startswith("$ "):
            problems += wrong_command(program, command)
        if line.startswith("$ ") and command[1:2] == ["size"]:
            found = program.run(command[1:], "verify").stdout
            if " ".join(found.split()) != " ".join(answer.split()):
                problems.append(f"{line} prints\n{found}\ninstead of\n{answer}")
        elif "--output=csv" in command:
            found = program.run([word for word in command[1:]], "verify").stdout
            if found.splitlines()[0] != answer.splitlines()[0]:
                problems.append(f"{line} begins with {found.splitlines()[0]}")
    for line in text.splitlines():
        if HEADER.match(line) and " ".join(line.split()) not in program.said:
            problems.append(f"no table has these columns: {line}")
        match = LABEL.match(line)
        if match and match[1] not in program.said and f'"{match[1]}"' not in SOURCES:
            problems.append(f"no output has the label '{match[1]}'")
    return problems


def wrong_files(program: Program, text: str) -> list[str]:
    problems: list[str] = []
    generated = "".join(path.read_text(encoding="utf-8") for path in (common.HERE / "cases").glob("*/generator.expected"))
    for path, body in FILE.findall(text):
        if path.startswith("/etc/hugeplan.d/"):
            done = check_file(program, path, body)
            problems += [f"{path}: {done.stdout}{done.stderr}"] if done.returncode else []
        elif not path.startswith("/"):
            problems += [f"{path}: the generator writes no {key}=" for key in re.findall(r"^(\w+)=", body, re.MULTILINE)
                         if f"\n{key}=" not in generated]
    return problems


def check_file(program: Program, path: str, body: str) -> subprocess.CompletedProcess[str]:
    root = program.roots["learned"]
    directory = root / "etc/hugeplan.d.manual"
    file = directory / pathlib.Path(path).relative_to("/etc/hugeplan.d")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(body, encoding="utf-8")
    main = file if file.parent == directory else None
    return program.run(["check", f"/{(main or file).relative_to(root)}"], "learned")


def wrong_json(_program: Program, text: str) -> list[str]:
    try:
        import run_schema
    except SystemExit:
        json.loads(text)
        return []
    answer = json.loads(text)
    verb = "verify" if "waste" in answer else "status"
    error = run_schema.jsonschema.exceptions.best_match(run_schema.load(verb).iter_errors(answer))
    return [f"{verb}: {error.json_path}: {error.message}"] if error else []


def wrong_message(_program: Program, text: str) -> list[str]:
    """Compares the longest run of plain words, which contains no argument of the message, with the source."""
    words = re.split(r"[\d/()\[\]:,;*=.%-]|\b(?:what to do|pg-main|orders|reports|memory|Memory|of 2M|node)\b", " ".join(text.split()))
    longest = max((word.strip() for word in words), key=len)
    return [] if longest in SOURCES else [f"no message has '{longest}'"]


def wrong_engines(_program: Program, text: str) -> list[str]:
    """The table of engines has the units and preferences of the traits."""
    problems = []
    for row in text.splitlines()[1:]:
        name, *shown = row.split()
        traits = re.search(rf'\.name = "{name}",(.*?)\}};', SOURCES)
        unit = re.search(r'\.default_unit = "(.*?)"', traits[1] if traits else "")
        thp = re.search(r"\.thp_preference = THP_(\w+)", traits[1] if traits else "")
        if not traits or shown[-2:] != [unit[1] if unit else "-", thp[1].lower().replace("auto", "-") if thp else "-"]:
            problems.append(f"the traits have another unit or preference: {row}")
    return problems


def judge(program: Program, text: str) -> list[str]:
    kinds: list[tuple[str, Callable[[Program, str], list[str]]]] = [
        (r"\{", wrong_json), (r"# \S+[/.]\S+\n", wrong_files), (r"\$ ", wrong_output),
        (r"(error|warning|notice)( \[[a-z-]+\]( \(hurts\))?)?: |reserving: |pg-main: ready", wrong_message),
        (r" +[A-Z][a-z]+: |USED BY ", wrong_output),
        (r"\[(Host|Instance)\]\n", lambda program, text: wrong_files(program, "# /etc/hugeplan.d/00-host.conf\n" + text)),
        (r"Engine= ", wrong_engines), (r"\[Unit\]\n|postgresql:\n", lambda _program, _text: []),
    ]
    if (problems := wrong_commands(program, text)) is not None:
        return problems
    for pattern, wrong in kinds:
        if re.match(pattern, text):
            return wrong(program, text)
    return [f"an example of an unknown kind:\n{text}"]


def main() -> int:
    path = common.parser(__doc__, "hugeplanctl").parse_args().hugeplanctl
    problems: list[str] = []
    n = 0
    with tempfile.TemporaryDirectory(prefix="hugeplan-manual-") as name:
        program = Program(path, pathlib.Path(name).resolve())
        for page in sorted((SOURCE / "man").glob("*.scd")):
            for block in BLOCK.findall(page.read_text(encoding="utf-8")):
                n += 1
                problems += [f"{page.name}: {problem}" for problem in judge(program, textwrap.dedent(block))]
    print("\n".join(problems) or f"{n} examples")
    return 1 if problems or n < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
