#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No ring includes outward, every include names its ring, and paths of the kernel stand in one place.

usage: check_layers.py SRC-DIR
"""

from __future__ import annotations

import pathlib
import re
import sys
import tempfile

MAY_INCLUDE = {
    "base": {"base"},
    "core": {"base", "core"},
    "host": {"base", "core", "host"},
    "ipc": {"base", "core", "ipc"},
    "tools": {"base", "core", "host", "ipc", "tools"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# /proc/self/fd/N is no file of the host but a way to name a descriptor.
KERNEL_PATH = re.compile(r'"/(sys|proc)/(?!self/fd/)')
# In two parts, or reuse would read it as this file's own.
SPDX_LINE = "/* SPDX-License-" "Identifier: LGPL-2.1-or-later */\n"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def check_include(source: pathlib.Path, ring: str, included: str, root: pathlib.Path) -> str | None:
    if "/" not in included or included.split("/")[0] not in MAY_INCLUDE:
        return f'"{included}" does not name its ring; write it from src/, as "core/plan.h"'
    if included.split("/")[0] not in MAY_INCLUDE[ring]:
        return f'{ring}/ must not include "{included}"'
    if not (root / included).is_file():
        return f'"{included}" is not there'
    if source.suffix == ".c" and included.endswith(".c"):
        return f'"{included}" is no header'
    return None


def check_file(source: pathlib.Path, root: pathlib.Path) -> list[str]:
    name = source.relative_to(root)
    ring = name.parts[0]
    text = source.read_text(encoding="utf-8")
    problems = []
    if ring not in MAY_INCLUDE:
        return [f"{name}: {ring}/ is no ring"]
    if not text.startswith(SPDX_LINE):
        problems.append(f"{name}:1: the SPDX line is missing")
    if source.suffix == ".h" and "#pragma once" not in text:
        problems.append(f"{name}: #pragma once is missing")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        wrong = check_include(source, ring, match[1], root) if match else None
        if wrong:
            problems.append(f"{name}:{number}: {wrong}")
    code = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        if KERNEL_PATH.search(line) and str(name) != "core/names.h":
            problems.append(f"{name}:{number}: a path of the kernel outside core/names.h")
    return problems


def check(root: pathlib.Path) -> list[str]:
    sources = sorted([*root.rglob("*.c"), *root.rglob("*.h")])
    problems = [problem for source in sources for problem in check_file(source, root)]
    return problems if sources else [f"{root}: no sources"]


def self_test() -> None:
    spdx = SPDX_LINE
    cases = {
        ("core/a.c", spdx + '#include "base/b.h"\n/* "/sys/x" */\n'): False,
        ("base/a.c", spdx + '#include "core/c.h"\n'): True,
        ("core/a.c", spdx + '#include "host/h.h"\n'): True,
        ("ipc/a.c", spdx + '#include "host/h.h"\n'): True,
        ("core/a.c", spdx + '#include "c.h"\n'): True,
        ("host/a.c", spdx + '#include "tools/t.h"\n'): True,
        ("host/a.c", spdx + 'const char *p = "/sys/kernel";\n'): True,
        ("core/a.c", "int x;\n"): True,
        ("core/a.h", spdx + "int x;\n"): True,
        ("core/a.c", spdx + '#include "core/none.h"\n'): True,
    }
    for (name, text), is_bad in cases.items():
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for header in ("base/b.h", "core/c.h", "host/h.h", "tools/t.h"):
                (root / header).parent.mkdir(exist_ok=True)
                (root / header).write_text(spdx + "#pragma once\n")
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
            if bool(check(root)) != is_bad:
                sys.exit(f"self-test: {check(root)} for {name}:\n{text}")


def main() -> int:
    self_test()
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
