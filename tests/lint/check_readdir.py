#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Directories are read in one place, which takes a read that fails for no end of the directory: what could
not be read is not empty.

usage: check_readdir.py SOURCE-DIR
"""

from __future__ import annotations

import pathlib
import re
import sys
import tempfile

PLACE = "src/host/root/root_names.c"
READS = re.compile(r"\b((?:readdir|readdir64)(?:_r)?|getdents(?:64)?|SYS_getdents(?:64)?|scandir(?:at)?(?:64)?"
                   r"|glob(?:64)?|n?ftw(?:64)?|fts_(?:open|read|children))\b\s*\(?")
# As it has to be.
READ = re.compile(r"while \(\((\w+) = getdents64\([^()]*(?:\(\w+\))?\)\) != 0\) \{\s*"
                  r"if \(\1 < 0\)\s*return -errno;")
# A row of those that a process may make, and no call.
ROW = re.compile(r"\{SYS_getdents(?:64)?, ")
COMMENT = re.compile(r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)


def strip(text: str) -> str:
    """Without comments and strings, on the same lines."""
    return COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)


def check(source: pathlib.Path) -> list[str]:
    problems = []
    files = sorted((source / "src").rglob("*.[ch]"))
    for path in files:
        name = str(path.relative_to(source))
        code = ROW.sub("{", strip(path.read_text(encoding="utf-8")))
        if name == PLACE:
            code = READ.sub(lambda match: "\n" * match[0].count("\n"), code, count=1)
        for number, line in enumerate(code.splitlines(), 1):
            match = READS.search(line)
            if match:
                problems.append(f"{name}:{number}: {match[1]}: directories are read by root_read_names() alone, "
                                "which tells a failure from the end")
    return problems if files else [f"{source}/src: no sources"]


def self_test() -> None:
    good = "while ((n = getdents64(d, b, sizeof(b))) != 0) {\n if (n < 0)\n  return -errno;\n}\n"
    cases = {
        (PLACE, good): False,
        (PLACE, good + good): True,
        (PLACE, good.replace("!= 0", "> 0")): True,
        (PLACE, good.replace("if (n < 0)", "if (m < 0)")): True,
        (PLACE, good.replace("return -errno", "break")): True,
        ("src/host/probe.c", good): True,
        ("src/host/probe.c", "/* readdir(3) */\nconst char *s = \"readdir(\";\n"): False,
        ("src/host/probe.c", "int n = scandir(p, &l, NULL, NULL);\n"): True,
        ("src/host/probe.c", "int global(void);\n"): False,
        ("src/host/probe.c", "syscall(SYS_getdents64, fd);\n"): True,
        ("src/inspect/a.c", "{SYS_getdents64, -1, 0},\n"): False,
        ("src/inspect/a.c", "syscall(SYS_getdents64, -1, 0),\n"): True,
        ("src/ctl/a.c", "nftw(p, f, 1, 0);\n"): True,
    }
    for (name, text), is_bad in cases.items():
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / name
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            if bool(check(pathlib.Path(directory))) != is_bad:
                sys.exit(f"self-test: {check(pathlib.Path(directory))} for {name}:\n{text}")


def main() -> list[str]:
    self_test()
    return check(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
