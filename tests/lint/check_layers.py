#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The order of the rooms: none includes what stands behind it, every include names its room, and paths
of the kernel stand in one place.

usage: check_layers.py SRC-DIR
"""

from __future__ import annotations

import pathlib
import re
import sys
import tempfile

# Each room may include itself and the rooms before it.
PURE = ("base", "model", "read", "engines", "config", "demand", "promise", "plan", "status",
        "units", "check", "render")
# Effects: what each of these may include besides itself.
EFFECTS = {
    "host": set(PURE) - {"check", "render"},
    "apply": {"base", "model", "read", "engines", "config", "demand", "promise", "plan", "host"},
    "inspect": set(PURE) - {"render"} | {"host"},
    "keeper": set(PURE) - {"check", "render"} | {"host", "apply"},
    "systemd": set(PURE) - {"check", "render"} | {"host"},
    "ipc": {"base", "model"},
}
PROGRAMS = ("daemon", "ctl", "generator")
MAY_INCLUDE = {
    **{room: set(PURE[:i + 1]) for i, room in enumerate(PURE)},
    **{room: others | {room} for room, others in EFFECTS.items()},
    **{room: {*PURE, *EFFECTS, room} for room in PROGRAMS},
}
NAMES = "model/names.h"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# /proc/self/fd/N is no file of the host but a way to name a descriptor.
KERNEL_PATH = re.compile(r'"/(sys|proc)/(?!self/fd/)')
# In two parts, or reuse would read it as this file's own.
SPDX_LINE = "/* SPDX-License-" "Identifier: LGPL-2.1-or-later */\n"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def check_include(source: pathlib.Path, room: str, included: str, root: pathlib.Path) -> str | None:
    if "/" not in included or included.split("/")[0] not in MAY_INCLUDE:
        return f'"{included}" does not name its room; write it from src/, as "plan/plan.h"'
    if included.split("/")[0] not in MAY_INCLUDE[room]:
        return f'{room}/ must not include "{included}"'
    if not (root / included).is_file():
        return f'"{included}" is not there'
    if source.suffix == ".c" and included.endswith(".c"):
        return f'"{included}" is no header'
    return None


def check_file(source: pathlib.Path, root: pathlib.Path) -> list[str]:
    name = source.relative_to(root)
    room = name.parts[0]
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


def check(root: pathlib.Path) -> list[str]:
    sources = sorted([*root.rglob("*.c"), *root.rglob("*.h")])
    problems = [problem for source in sources for problem in check_file(source, root)]
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
        ("plan/a.c", "int x;\n"): True,
        ("plan/a.h", spdx + "int x;\n"): True,
        ("plan/a.c", spdx + '#include "plan/none.h"\n'): True,
    }
    for (name, text), is_bad in cases.items():
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for header in ("base/b.h", "plan/c.h", "status/s.h", "host/h.h", "daemon/t.h"):
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
