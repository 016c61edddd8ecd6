#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The programs are linked only with the rooms that they need. Libraries are linked by member, so one call can pull in
many files; the linker's maps show them. check_figures.py limits their lines.

usage: check_linked.py BUILD-DIR SRC-DIR
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import tempfile
from dataclasses import dataclass



@dataclass(frozen=True)
class Program:
    rooms: set[str]
    engines: tuple[str, ...]


PROGRAMS = {
    "hugeplan-generator": Program({"base", "model", "read", "engines", "config", "demand", "plan", "units", "host",
                                   "generator"}, ("traits",)),
    "hugepland": Program({"base", "model", "read", "engines", "config", "demand", "plan", "status", "units", "render",
                          "runtime", "host", "apply", "systemd", "keeper", "ipc", "daemon"},
                         ("traits", "formula")),
}
MEMBER = re.compile(r"(\S+?\.a\.p/|\S+?\.p/)(\S+?\.c\.o)")
PART = re.compile(r"_(traits|formula|reader|finder|rules)\.c$")
# Other files of an engine are part of the reader, with this exception.
BESIDE = {"postgresql_segment.c": "formula"}


def engine_part(name: str) -> str:
    match = PART.search(name)
    return BESIDE.get(name) or (match[1] if match else "reader")


def linked(build: pathlib.Path, program: str) -> list[pathlib.Path]:
    """The sources whose objects are in the program."""
    sources = {entry["output"]: pathlib.Path(entry["directory"], entry["file"]).resolve()
               for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))}
    text = (build / "src" / f"{program}.map").read_text(encoding="utf-8", errors="replace")
    objects = {match[1] + match[2] for match in MEMBER.finditer(text)}
    return sorted({sources[name] for name in objects if name in sources})


def check(build: pathlib.Path, src: pathlib.Path, program: str) -> list[str]:
    wanted = PROGRAMS[program]
    files = [path.relative_to(src) for path in linked(build, program)]
    problems = []
    for path in files:
        if path.parts[0] not in wanted.rooms:
            problems.append(f"{program} is linked with {path}; {program}.map says for which symbol")
        elif path.parts[0] == "engines" and len(path.parts) > 2 and engine_part(path.name) not in wanted.engines:
            problems.append(f"{program} is linked with {path}, and needs engines' {' and '.join(wanted.engines)} only")
    if not files:
        problems.append(f"{program}.map names no objects of the project")
    return problems


def self_test() -> None:
    cases = {"config/config.c": 0, "check/rules.c": 1, "engines/x/x_traits.c": 0, "engines/x/x_reader.c": 1,
             "engines/x/x_files.c": 1, "engines/x/postgresql_value.c": 1, "engines/engine.c": 0}
    for name, n_problems in cases.items():
        with tempfile.TemporaryDirectory() as directory:
            build, src = pathlib.Path(directory, "build"), pathlib.Path(directory).resolve() / "src"
            (src / name).parent.mkdir(parents=True)
            (src / name).write_text("int x;\n", encoding="utf-8")
            (build / "src").mkdir(parents=True)
            output = "src/libx.a.p/x.c.o"
            (build / "compile_commands.json").write_text(json.dumps(
                [{"directory": str(build), "file": str(src / name), "output": output}]), encoding="utf-8")
            (build / "src/hugeplan-generator.map").write_text(f"{output}\n   (x)\n", encoding="utf-8")
            problems = check(build, src, "hugeplan-generator")
            if len(problems) != n_problems:
                sys.exit(f"self-test: {problems} for {name}")


def main() -> list[str]:
    self_test()
    build, src = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    problems = [problem for program in PROGRAMS for problem in check(build, src, program)]
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
