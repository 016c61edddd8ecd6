# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ansible for scenarios: the role and playbooks of a guest that is its own control host."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guestlib import *
from scenario import Content

PLAY = Path("/vm/play")
ROLES = Path(__file__).resolve().parent / "../../contrib/ansible/roles"  # on the host

# Each task of a role is a Python of its own: what can be spared under emulation is spared.
SETTINGS = """\
[defaults]
roles_path = /vm/play/roles
interpreter_python = /usr/bin/python3
[connection]
pipelining = true
"""


def role_files() -> dict[str, Content]:
    roles = (path for path in ROLES.rglob("*") if path.is_file())
    return {
        f"{PLAY}/ansible.cfg": SETTINGS,
        **{f"{PLAY}/roles/{path.relative_to(ROLES)}": path.read_text() for path in roles},
    }


def playbook(*variables: str) -> str:
    """The role for this host, once for each file of variables."""
    return "".join(
        "- hosts: localhost\n  connection: local\n  gather_facts: false\n"
        f"  vars_files: [{name}]\n  roles: [hugeplan]\n"
        for name in variables
    )


def describe(drop_ins: dict[str, Any], file: str = "variables.json", **variables: object) -> None:
    """Writes the role's variables; without a package, unless they name one."""
    values = {"hugeplan_package": "", "hugeplan_dropins": drop_ins, **variables}
    (PLAY / file).write_text(json.dumps(values))


@dataclass(frozen=True)
class Played:
    done: subprocess.CompletedProcess[str]
    counts: dict[str, int]  # "ok", "changed", "failed" of the recap

    def says(self, text: str) -> bool:
        return text in self.done.stdout


def play(what: str, arguments: str = "site.yml") -> Played:
    done, seconds = timed(lambda: sh(f"cd {PLAY} && ansible-playbook {arguments}", timeout_sec=300))
    note(f"{what}: {seconds:.0f} s\n{said(done)}")
    recap = re.search(r"^localhost +:(.*)$", done.stdout, re.MULTILINE)
    counts = re.findall(r"(\w+)=(\d+)", recap[1] if recap else "")
    return Played(done, {name: int(count) for name, count in counts})
