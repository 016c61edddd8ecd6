#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every scenario of the boot tests can be loaded, defines every name that it uses, is for existing suites, and checks
something. This is known in a second, and not after an hour of boots.

usage: check_scenarios.py SOURCE-DIR
"""

from __future__ import annotations

import builtins
import dis
import pathlib
import sys
import traceback
import types
from collections.abc import Iterator

sys.dont_write_bytecode = True


def names_in(code: types.CodeType) -> Iterator[str]:
    """The global names that CODE and its functions use."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
        if isinstance(instruction.argval, types.CodeType):
            yield from names_in(instruction.argval)


def unknown_names(run: object, file: pathlib.Path) -> list[str]:
    known = vars(run.load_module(file)).keys() | vars(builtins).keys() | {"__qualname__", "__annotations__"}
    code = compile(file.read_text(encoding="utf-8"), file, "exec")
    return [f"{file}: {name} is not defined" for name in sorted(set(names_in(code)) - known)]


def problems_of(run: object, file: pathlib.Path, known: tuple[str, ...]) -> list[str]:
    try:
        scenario = run.load_scenario(file)
    except Exception:
        return [f"{file}: {traceback.format_exc(limit=-1)}"]
    suites = (*scenario.suites, *scenario.more_suites)
    problems = unknown_names(run, file)
    problems += [f"{file}: there is no suite {one}" for one in {*suites, *scenario.files_on} if one not in known]
    if not suites:
        problems.append(f"{file}: no suite is given")
    if len(set(suites)) < len(suites):
        problems.append(f"{file}: a suite is given twice")
    if not scenario.boots or not all(callable(boot.check) for boot in scenario.boots):
        problems.append(f"{file}: checks nothing")
    return problems


def main() -> int:
    directory = pathlib.Path(sys.argv[1]) / "tests/vm"
    sys.path.insert(0, str(directory))
    import run

    files = sorted((directory / "scenarios").glob("*.py"))
    problems = [line for file in files for line in problems_of(run, file, run.SUITES)]
    if len(files) < 20:
        problems.append(f"only {len(files)} scenarios were found in {directory}")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
