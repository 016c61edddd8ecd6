#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ansible-lint with its strictest profile finds no problem in the role, and every variable is described in README.md
and in the role's argument specification. Without ansible-lint the test is skipped (77) after the second part.

usage: check_ansible.py SOURCE-DIR
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from programs import program  # noqa: E402

VARIABLE = re.compile(r"^(hugeplan_\w+):", re.MULTILINE)
SPECIFICATION = re.compile(r"^ {6}(hugeplan_\w+):\n(?: {8}.*\n)*? {8}default: (.*)$", re.MULTILINE)


def lint(linter: str, directory: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Runs ansible-lint without the network, and with its caches in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-ansible-lint-") as home:
        environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache",
                       "ANSIBLE_HOME": f"{home}/ansible", "NO_COLOR": "1"}
        return subprocess.run([linter, "--offline", "--profile", "production", "--strict", "--nocolor", "-p"],
                              cwd=directory, env=environment, check=False, capture_output=True, text=True)


def main() -> int:
    directory = pathlib.Path(sys.argv[1]) / "contrib/ansible"
    role = directory / "roles/hugeplan"
    defaults = (role / "defaults/main.yml").read_text(encoding="utf-8")
    readme = (directory / "README.md").read_text(encoding="utf-8")
    specified = dict(SPECIFICATION.findall((role / "meta/argument_specs.yml").read_text("utf-8")))
    names = VARIABLE.findall(defaults)
    problems = [f"README.md: {name} is not described" for name in names
                if name not in readme and f"`_{name.rsplit('_', 1)[1]}`" not in readme]
    for name in names:
        default = re.search(rf"^{name}: (.*)$", defaults, re.MULTILINE)
        if not default or specified.get(name) != default[1]:
            problems.append(f"meta/argument_specs.yml: {name} has no default, or a different one")
    problems += [f"defaults/main.yml: {name} is missing" for name in specified.keys() - set(names)]
    problems = problems if len(names) > 5 else ["the pattern VARIABLE no longer matches"]
    print("\n".join(problems))
    if problems:
        return 1
    done = lint(program("ansible-lint"), directory)
    print(done.stdout[-20000:], done.stderr[-5000:])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
