#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""contrib/ansible/patroni.yml gets the size of its parameters from hugeplanctl and makes a drop-in of it, with its own
variables and with ones like those of autobase. Nothing is installed or written: a role with the same argument
specification prints its arguments in place of the real one. Skips (77) without ansible-playbook.

usage: run_playbook.py --hugeplanctl=PROGRAM
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import common
from common import check

ANSIBLE = common.HERE.parent / "contrib/ansible"
INVENTORY = """\
[postgres_cluster]
localhost ansible_connection=local ansible_become=false ansible_python_interpreter={python}
"""
# Replaces the role; prints its arguments.
ROLE = """\
---
- name: Show the drop-ins
  ansible.builtin.debug:
    msg: "{{ hugeplan_dropins | to_json }}"
  tags: [size]
"""
PARAMETERS = [{"option": "shared_buffers", "value": "{{ gigabytes }}GB"}, {"option": "max_connections", "value": 500},
              {"option": "work_mem", "value": "64MB"}, {"option": "port", "value": "5433"}]


class Host:
    def __init__(self, program: pathlib.Path, directory: pathlib.Path) -> None:
        self.directory, self.root = directory, directory / "root"
        self.root.mkdir()
        common.make_root("one-node", self.root)
        self.program = program
        command = [*common.WRAPPER, str(program), f"--root={self.root}"]
        tool = directory / "bin/hugeplanctl"
        tool.parent.mkdir()
        tool.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        tool.chmod(0o755)
        tasks = directory / "roles/hugeplan/tasks"
        tasks.mkdir(parents=True)
        (tasks / "main.yml").write_text(ROLE, encoding="utf-8")
        (tasks / "install.yml").write_text("---\n", encoding="utf-8")
        shutil.copytree(ANSIBLE / "roles/hugeplan/meta", directory / "roles/hugeplan/meta")
        shutil.copy(ANSIBLE / "patroni.yml", directory)
        (directory / "inventory").write_text(INVENTORY.format(python=sys.executable), encoding="utf-8")

    def play(self, *options: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(self.directory), "ANSIBLE_HOME": f"{self.directory}/ansible",
                       "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8",
                       "PATH": f"{self.directory}/bin:{os.environ['PATH']}"}
        return subprocess.run(["ansible-playbook", "--inventory", f"{self.directory}/inventory", "--tags", "size",
                               *options, "patroni.yml"], check=False, capture_output=True, text=True,
                              timeout=200, env=environment, cwd=self.directory, stdin=subprocess.DEVNULL)

    def pages(self, *settings: str) -> int:
        words = [word for setting in settings for word in ("-c", setting)]
        done = common.run(self.program, "size", "postgresql", "--json=short", *words, root=self.root)
        return int(json.loads(done.stdout)["pages"])


def check_play(host: Host, pages: int, *options: str) -> None:
    done = host.play(*options)
    shown = re.search(r'"msg": "(.*)"', done.stdout)
    check(done.returncode == 0 and shown, f"{done.stdout}{done.stderr}")
    dropins = json.loads(json.loads(f'"{shown[1]}"')) if shown else None
    dropin = {"Instance": {"Engine": "postgresql", "Unit": "patroni.service", "Pages": pages}}
    check(dropins in ({"20-patroni": dropin}, {"20-patroni": {"Instance": {**dropin["Instance"], "Pages": str(pages)}}}),
          f"{pages}: {dropins}")  # a template's result is a text before ansible-core 2.19


def main() -> int:
    program = common.parser(__doc__, "hugeplanctl").parse_args().hugeplanctl
    if not shutil.which("ansible-playbook"):
        return common.skip("ansible-playbook is not installed")
    with tempfile.TemporaryDirectory(prefix="hugeplan-ansible-") as name:
        host = Host(program, pathlib.Path(name).resolve())
        check_play(host, host.pages("shared_buffers=8GB", "max_connections=300", "server_version=17"))
        variables = json.dumps({"postgresql_parameters": PARAMETERS, "postgresql_version": 15, "gigabytes": 12})
        check_play(host, host.pages("shared_buffers=12GB", "max_connections=500", "server_version=15"),
                   "--extra-vars", variables)
        mistaken = host.play("--extra-vars", json.dumps({"postgresql_parameters": [
            {"option": "shared_buffers", "value": "8 gigs"}]}))
        check(mistaken.returncode != 0 and "shared_buffers (/dev/stdin:1)" in mistaken.stdout, mistaken.stdout)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
