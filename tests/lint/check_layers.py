#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The order of the rooms: a room includes only itself and earlier rooms, every include names its room, no file
includes or calls itself by way of others, and paths of the kernel are in one file. And their size: the number of
files in a folder, and of lines in a file, is limited.

usage: check_layers.py SRC-DIR
"""

from __future__ import annotations

import collections
import pathlib
import re
import sys
import tempfile

# Each room may include itself and the rooms before it.
PURE = ("base", "model", "read", "engines", "config", "demand", "plan", "status", "units", "check", "render")
# Rooms with effects: what each may include besides itself.
EFFECTS = {
    "runtime": {"base"},
    "host": set(PURE) - {"check", "render"} | {"runtime"},
    "apply": {"base", "model", "read", "engines", "config", "demand", "plan", "runtime", "host"},
    "inspect": set(PURE) - {"render"} | {"runtime", "host"},
    "keeper": set(PURE) - {"check", "render"} | {"runtime", "host", "apply"},
    "systemd": set(PURE) - {"check", "render"} | {"runtime", "host"},
    "ipc": {"base", "model", "runtime"},
}
PROGRAMS = ("daemon", "ctl", "generator")
MAY_INCLUDE = {
    **{room: set(PURE[:i + 1]) for i, room in enumerate(PURE)},
    **{room: others | {room} for room, others in EFFECTS.items()},
    **{room: {*PURE, *EFFECTS, room} for room in PROGRAMS},
}
# Files of an engine whose name ends so belong to another room.
PART_ROOMS = {"rules": "check"}
FILES_MAX = 25  # .c and .h, in one folder
LINES_MAX = 600
NAMES = "model/names.h"
GENERATED = {"engines/engine_rows.h", "ipc/interface_texts.h", "status/messages.h"}  # in the build directory
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# /proc/self/fd/N is a name for a descriptor, and not a file of the host.
KERNEL_PATH = re.compile(r'"/(sys|proc)/(?!self/fd/)')
# In two parts, or reuse would read it as this file's own.
SPDX_LINE = "/* SPDX-License-" "Identifier: LGPL-2.1-or-later */\n"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CALL = re.compile(r"\b([a-z]\w+)\(")
# A function that other files may call, as clang-format writes it.
DEFINITION = re.compile(r"^(?!static|typedef|return|else)[A-Za-z_][\w *]*?\b(\w+)\([^;{}]*\) \{$", re.MULTILINE)


def check_include(source: pathlib.Path, room: str, included: str, root: pathlib.Path) -> str | None:
    if "/" not in included or included.split("/")[0] not in MAY_INCLUDE:
        return f'"{included}" does not name its room; write it from src/, as "plan/plan.h"'
    if included.split("/")[0] not in MAY_INCLUDE[room]:
        return f'{room}/ must not include "{included}"'
    if included not in GENERATED and not (root / included).is_file():
        return f'"{included}" does not exist'
    if source.suffix == ".c" and included.endswith(".c"):
        return f'"{included}" is no header'
    return None


def check_file(source: pathlib.Path, root: pathlib.Path) -> list[str]:
    name = source.relative_to(root)
    room = PART_ROOMS.get(name.stem.rpartition("_")[2], name.parts[0]) if name.parts[0] == "engines" else name.parts[0]
    text = source.read_text(encoding="utf-8")
    problems = []
    if room not in MAY_INCLUDE:
        return [f"{name}: {room}/ is no room"]
    if not text.startswith(SPDX_LINE):
        problems.append(f"{name}:1: the SPDX line is missing")
    if source.suffix == ".h" and "#pragma once" not in text:
        problems.append(f"{name}: #pragma once is missing")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        wrong = check_include(source, room, match[1], root) if match else None
        if wrong:
            problems.append(f"{name}:{number}: {wrong}")
    code = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        if KERNEL_PATH.search(line) and str(name) != NAMES:
            problems.append(f"{name}:{number}: a path of the kernel outside {NAMES}")
    return problems


def check_sizes(sources: list[pathlib.Path], root: pathlib.Path) -> list[str]:
    problems = []
    for folder, n in sorted(collections.Counter(source.parent for source in sources).items()):
        if n > FILES_MAX:
            problems.append(f"{folder.relative_to(root)}/: {n} files; more than {FILES_MAX} must be split into two folders")
    for source in sources:
        name = source.relative_to(root).as_posix()
        n = source.read_text(encoding="utf-8").count("\n")
        if n > LINES_MAX:
            problems.append(f"{name}: {n} lines; more than {LINES_MAX} must be split into two files")
    return problems


def includes_of(source: pathlib.Path) -> list[str]:
    matches = (INCLUDE.match(line) for line in source.read_text(encoding="utf-8").splitlines())
    return [match[1] for match in matches if match]


def calls_of(sources: list[pathlib.Path], root: pathlib.Path) -> dict[str, set[str]]:
    """The files whose functions each file calls, in whichever header they are declared."""
    texts = {source.relative_to(root).as_posix(): source.read_text(encoding="utf-8") for source in sources
             if source.suffix == ".c"}
    defined: dict[str, set[str]] = collections.defaultdict(set)
    for name, text in texts.items():
        for match in DEFINITION.finditer(text):
            defined[match[1]].add(name)
    return {name: {file for word in CALL.findall(COMMENT.sub("", text)) for file in defined[word]
                   if len(defined[word]) == 1} - {name}
            for name, text in texts.items()}


def check_circles(graph: dict[str, list[str]] | dict[str, set[str]], what: str) -> list[str]:
    done: set[str] = set()
    problems = []

    def follow(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            problems.append(f"{' -> '.join([*way[way.index(name):], name])}: a circle of {what}")
        elif name not in done:
            for other in sorted(graph.get(name, ())):
                follow(other, (*way, name))
            done.add(name)

    for name in sorted(graph):
        follow(name, ())
    return problems


def check(root: pathlib.Path) -> list[str]:
    sources = sorted([*root.rglob("*.c"), *root.rglob("*.h")])
    problems = [problem for source in sources for problem in check_file(source, root)]
    includes = {source.relative_to(root).as_posix(): includes_of(source) for source in sources}
    problems += check_sizes(sources, root)
    problems += check_circles(includes, "includes") + check_circles(calls_of(sources, root), "calls")
    return problems if sources else [f"{root}: no sources"]


def self_test() -> None:
    spdx = SPDX_LINE
    cases = {
        ("plan/a.c", spdx + '#include "base/b.h"\n/* "/sys/x" */\n'): False,
        ("plan/a.c", spdx + '#include "status/s.h"\n'): True,
        ("base/a.c", spdx + '#include "plan/c.h"\n'): True,
        ("check/a.c", spdx + '#include "host/h.h"\n'): True,
        ("ipc/a.c", spdx + '#include "host/h.h"\n'): True,
        ("host/a.c", spdx + '#include "plan/c.h"\n'): False,
        ("plan/a.c", spdx + '#include "c.h"\n'): True,
        ("host/a.c", spdx + '#include "daemon/t.h"\n'): True,
        ("ctl/a.c", spdx + '#include "daemon/t.h"\n'): True,
        ("daemon/a.c", spdx + '#include "plan/c.h"\n#include "host/h.h"\n'): False,
        ("host/a.c", spdx + 'const char *p = "/sys/kernel";\n'): True,
        ("tools/a.c", spdx + "int x;\n"): True,
        ("engines/x/x_rules.c", spdx + '#include "plan/c.h"\n'): False,
        ("engines/x/x_reader.c", spdx + '#include "plan/c.h"\n'): True,
        ("plan/a.c", "int x;\n"): True,
        ("plan/a.h", spdx + "int x;\n"): True,
        ("plan/a.c", spdx + '#include "plan/none.h"\n'): True,
        ("plan/a/b.c", spdx + '#include "plan/c.h"\n'): False,
        ("plan/a/b.c", spdx + '#include "status/s.h"\n'): True,
        ("plan/a.c", spdx + "\n" * (LINES_MAX - 1)): False,
        ("plan/a.c", spdx + "\n" * LINES_MAX): True,
        ("plan/e.h", spdx + '#pragma once\n#include "plan/c.h"\n'): False,
        ("plan/d.h", spdx + '#pragma once\n#include "plan/c.h"\n'): True,
        ("plan/e.h", spdx + '#pragma once\n#include "plan/e.h"\n'): True,
    }
    for (name, text), is_bad in cases.items():
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for header in ("base/b.h", "plan/c.h", "status/s.h", "host/h.h", "daemon/t.h"):
                (root / header).parent.mkdir(exist_ok=True)
                (root / header).write_text(spdx + "#pragma once\n")
            (root / "plan/c.h").write_text(spdx + '#pragma once\n#include "plan/d.h"\n')
            (root / "plan/d.h").write_text(spdx + "#pragma once\n")
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
            if bool(check(root)) != is_bad:
                sys.exit(f"self-test: {check(root)} for {name}:\n{text}")
    for called, is_bad in (("a", True), ("c", False)):
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "plan").mkdir()
            for name, other in (("a", "b"), ("b", called)):
                text = f"{spdx}int {name}_do(void) {{\n        return {other}_do();\n}}\n"
                (pathlib.Path(directory) / f"plan/{name}.c").write_text(text)
            if bool(check(pathlib.Path(directory))) != is_bad:
                sys.exit(f"self-test: b calls {called}")
    for n in (FILES_MAX, FILES_MAX + 1):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for folder in ("base", "base/more"):
                (root / folder).mkdir()
            (root / "base/more/a.c").write_text(spdx)
            for i in range(n):
                (root / "base" / f"{i}.c").write_text(spdx)
            if bool(check(root)) != (n > FILES_MAX):
                sys.exit(f"self-test: {check(root)} for a folder of {n} files")


def main() -> list[str]:
    self_test()
    return check(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
