#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bash, fish and zsh complete the words that hugeplanctl takes: instances, engines, the settings of each engine. A
shell that is not installed is left out, and then the test is skipped (77) after the others.

usage: run_completion.py --hugeplanctl=PROGRAM
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

import common

COMPLETION = common.HERE.parent / "contrib/completion"
BASH = """source "$0"; COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$' \\t\\n"=:@'
_hugeplanctl 2>/dev/null; printf '%s\\n' "${COMPREPLY[@]}" """
FISH = 'source $argv[1]; complete -C "$argv[2]" | string replace -r "\\t.*" ""'
# zsh completes only on a terminal, so the functions that offer candidates are replaced by ones that print them.
ZSH = """compadd() { print -l -- ${(P)@[-1]} }
_arguments() { : }
_describe() { : }
_values() { print -l -- ${@:2} }
words=(${=2}); source $1; shift words; _hugeplanctl_${3}"""


def shell(environment: dict[str, str], *command: str) -> list[str]:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=environment)
    if done.stderr:
        sys.exit(f"{command[0]}: {done.stderr}")
    return done.stdout.split()


def in_bash(environment: dict[str, str], line: str, _what: str) -> list[str]:
    return shell(environment, "bash", "--norc", "-c", BASH, str(COMPLETION / "hugeplanctl"), line)


def in_fish(environment: dict[str, str], line: str, _what: str) -> list[str]:
    return shell(environment, "fish", "--no-config", "-c", FISH, str(COMPLETION / "hugeplanctl.fish"), line)


def in_zsh(environment: dict[str, str], line: str, what: str) -> list[str]:
    return shell(environment, "zsh", "-f", "-c", ZSH, "zsh", str(COMPLETION / "_hugeplanctl"), line, what)


SHELLS: dict[str, Callable[[dict[str, str], str, str], list[str]]] = {"bash": in_bash, "fish": in_fish, "zsh": in_zsh}


def wrong_in(name: str, environment: dict[str, str], engines: list[dict], root: pathlib.Path) -> list[str]:
    complete = SHELLS[name]
    wanted = [("hugeplanctl size ", "engines", {engine["engine"] for engine in engines}),
              (f"hugeplanctl --root={root} wait ", "instances", {"bound", "grown", "starting"})]
    equals = "" if name == "zsh" else "="  # zsh's compadd adds the '=' itself
    wanted += [(f"hugeplanctl size {engine['engine']} -c ", "settings",
                {setting + equals for setting in engine["settings"]}) for engine in engines]
    return [f"{name}: '{line}': {sorted(found ^ words)[:5]} should not differ" for line, what, words in wanted
            if (found := set(complete(environment, line, what))) != words]


def main() -> int:
    program = common.parser(__doc__, "hugeplanctl").parse_args().hugeplanctl
    with tempfile.TemporaryDirectory(prefix="hugeplan-completion-") as name, common.root_of("running") as root:
        script = pathlib.Path(name) / "hugeplanctl"
        script.write_text(f'#!/bin/sh\nexec {" ".join(common.WRAPPER)} {program} "$@"\n')
        script.chmod(0o755)
        environment = common.ENVIRONMENT | {"PATH": f"{name}:{os.environ['PATH']}", "HOME": name}
        done = subprocess.run([script, "size", "--json"], check=True, capture_output=True, text=True)
        engines = json.loads(done.stdout)
        assert len(engines) > 5 and sum(len(engine["settings"]) for engine in engines) > 50
        there = [each for each in SHELLS if shutil.which(each)]
        problems = [problem for each in there for problem in wrong_in(each, environment, engines, root)]
    missing = sorted(SHELLS.keys() - there)
    print("\n".join([*problems, *(f"{each} is not installed" for each in missing)]) or "all the same")
    return 1 if problems else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
