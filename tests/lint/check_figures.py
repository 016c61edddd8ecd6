#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The size of the project, as a table with the limit of each figure; a figure above its limit fails. A change that
reduces a figure lowers its limit.

usage: check_figures.py BUILD-DIR SOURCE-DIR
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterable

# Before the imports: no __pycache__ in the source tree.
sys.dont_write_bytecode = True

import check_layers  # noqa: E402
from check_linked import linked  # noqa: E402

LIMITS = {
    "lines of src/": 56_786,
    "lines linked into hugepland": 23_397,
    "lines linked into hugeplan-generator": 4_895,
    "lines of tests/ and scripts/": 64_839,
    "fields of the largest struct with state": 12,
    "arenas in it": 2,
    "booleans in it": 3,
    "circles of calls or includes": 0,
    "words of manuals": 17_737,
    "verbs": 16,
}
# The rooms whose structs are kept from one event to the next, except for those that live for one call.
STATEFUL_ROOMS = ("keeper", "daemon", "ipc")
FOR_A_CALL = {"Gate", "GateView", "Look", "PoolMove", "HistoryFigures"}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRUCT = re.compile(r"\bstruct (\w+) \{\n(.*?)\n\}", re.DOTALL)
ENUM = re.compile(r"\benum(?: \w+)? \{[^{}]*\}")
INNER = re.compile(r"\{([^{}]*)\}")
VERB = re.compile(r'^ {8}\{"[\w-]+",', re.MULTILINE)


def lines_of(paths: Iterable[pathlib.Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def files_of(top: pathlib.Path, *suffixes: str) -> list[pathlib.Path]:
    return [path for path in top.rglob("*") if path.suffix in suffixes and path.is_file()]


def members(body: str) -> list[tuple[str, str]]:
    """The type and declarators of each field; an anonymous enum is one field."""
    fields = []
    for field in ENUM.sub("enum", COMMENT.sub("", body)).split(";"):
        words = field.split()
        if words:
            declared = 1 if "(" in field else len(field.split(","))
            fields += [(words[1] if words[0] == "const" and len(words) > 1 else words[0], field)] * declared
    return fields


def parts(body: str) -> list[str]:
    """The body of a struct, in which a nested struct is one field, and the bodies of the nested structs."""
    found = []
    body = ENUM.sub("enum", COMMENT.sub("", body))
    while match := INNER.search(body):
        found.append(match[1])
        body = body[:match.start()] + body[match.end():]
    return [body, *found]


def structs(src: pathlib.Path) -> dict[str, tuple[int, int, int]]:
    """Fields, arenas and booleans of each struct with state."""
    found = {}
    for room in STATEFUL_ROOMS:
        for path in files_of(src / room, ".c", ".h"):
            for name, body in STRUCT.findall(COMMENT.sub("", path.read_text(encoding="utf-8"))):
                for number, part in enumerate(parts(body) if name not in FOR_A_CALL else []):
                    types = [kind for kind, _ in members(part)]
                    found[f"{name} {number}"] = (len(types), types.count("Arena"), types.count("bool"))
    return found


def circles(src: pathlib.Path) -> int:
    return sum("circle" in problem for problem in check_layers.check(src))


def figures(build: pathlib.Path, top: pathlib.Path) -> dict[str, int]:
    src = top / "src"
    sizes = structs(src)
    return {
        "lines of src/": lines_of(files_of(src, ".c", ".h")),
        **{f"lines linked into {program}": lines_of(linked(build, program))
           for program in ("hugepland", "hugeplan-generator")},
        "lines of tests/ and scripts/": lines_of([*files_of(top / "tests", ".c", ".h", ".py"),
                                                  *files_of(top / "scripts", ".py")]),
        "fields of the largest struct with state": max(size[0] for size in sizes.values()),
        "arenas in it": max(size[1] for size in sizes.values()),
        "booleans in it": max(size[2] for size in sizes.values()),
        "circles of calls or includes": circles(src),
        "words of manuals": sum(len(path.read_text(encoding="utf-8").split())
                                for path in files_of(top / "man", ".scd")),
        "verbs": len(VERB.findall((src / "ctl/verbs.c").read_text(encoding="utf-8"))),
    }


def self_test() -> None:
    body = "        Arena *arena, *before;\n        bool is_a, is_b; /* both */\n        enum {\n                A,\n        } kind;\n"
    if [kind for kind, _ in members(body)] != ["Arena", "Arena", "bool", "bool", "enum"]:
        sys.exit(f"self-test: {members(body)}")
    body = "        int a;\n        struct {\n                bool b;\n                struct {\n                        int d, e;\n                } c;\n        } f;\n"
    if [len(members(part)) for part in parts(body)] != [2, 2, 2]:
        sys.exit(f"self-test: {parts(body)}")
    if len(VERB.findall('        {"plan", "", 0},\n        {"serve-x",\n                {"no", 1},\n')) != 2:
        sys.exit("self-test: verbs")


def main() -> int:
    self_test()
    found = figures(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve())
    print(f"{'figure':42}{'is':>8}{'limit':>8}")
    for name, value in found.items():
        print(f"{name:42}{value:8}{LIMITS[name]:8}{'  too large' if value > LIMITS[name] else ''}")
    return int(any(value > LIMITS[name] for name, value in found.items()))


if __name__ == "__main__":
    sys.exit(main())
