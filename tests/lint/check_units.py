#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon can count a boot before it reserves, instances are checked wherever they may be described,
systemd-analyze verify has nothing to say about the units, and by systemd-analyze security they are exposed to little. Skips (77) where it is not installed.

usage: check_units.py SOURCE-DIR
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SUFFIXES = (".service", ".socket", ".timer")
# What is no program's path; of several forms, the one that every systemd knows.
VALUES = {"RESTART_PAUSES": "RestartSec=2s", "EARLY_PRIVATE_DEVICES": "PrivateDevices=yes"}


# Tenths, as `systemd-analyze security` rates them, of 100.
EXPOSURE_MAX = 8
# What a boot waits for is without the lines that protect nothing beside the others, which are rated all the same: see
# docs/privilege.md.
EARLY_UNITS = ("hugeplan.service",)
EARLY_EXPOSURE_MAX = 13
# As they are on systemd before 255: see units/meson.build.
EARLY_VALUE = "InaccessiblePaths=/dev"
OLD_EARLY_EXPOSURE_MAX = 15


def write_units(source: pathlib.Path, directory: pathlib.Path) -> list[str]:
    """As they are installed, but for programs: those need not be there."""
    units = []
    for path in sorted((source / "units").iterdir()):
        name = path.name.removesuffix(".in")
        if name.endswith(SUFFIXES):
            text = re.sub(r"@(\w+)@", lambda match: VALUES.get(match[1], "/bin/true"), path.read_text(encoding="utf-8"))
            (directory / name).write_text(text, encoding="utf-8")
            units.append(str(directory / name))
    return units


def after(text: str) -> set[str]:
    """The units after which one is ordered."""
    return {word for line in text.splitlines() if line.startswith("After=")
            for word in line.removeprefix("After=").split()}


def check_order(units: pathlib.Path) -> list[str]:
    """The daemon counts a boot on disk before it reserves what that boot may die of."""
    service = (units / "hugeplan.service.in").read_text(encoding="utf-8")
    problems = []
    if "systemd-remount-fs.service" not in after(service) or not re.search("^ReadWritePaths=-/etc/hugeplan.d", service, re.MULTILINE):
        problems.append("hugeplan.service: it starts when /etc/hugeplan.d cannot be written: a boot that dies of the "
                        "reservation would not have been counted")
    if "PrivateDevices=yes" in service.splitlines():
        problems.append("hugeplan.service: PrivateDevices= instead of @EARLY_PRIVATE_DEVICES@: systemd before 255 sets it "
                        "up in /tmp, which is emptied while this unit starts")
    return problems


def check_places(units: pathlib.Path, names: pathlib.Path) -> list[str]:
    """hugeplan-check.service is skipped only where no directory of the configuration has anything."""
    places = re.findall(r'^#define PATH_CONFIG_\w+\s+"(\S+?)"', names.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = {f"ConditionDirectoryNotEmpty=|{place}hugeplan.d" for place in places}
    lines = set((units / "hugeplan-check.service.in").read_text(encoding="utf-8").splitlines())
    problems = [f"hugeplan-check.service: no {one}: what is described there would not be checked"
                for one in sorted(wanted - lines)]
    return problems if wanted else [f"{names}: no directories of the configuration"]


def is_mighty(text: str) -> bool:
    """Root's, or with a capability: else it can do what everybody can, and there is nothing to confine."""
    return not re.search("^User=", text, re.MULTILINE) or "AmbientCapabilities=" in text


def check_exposure(program: str, unit: str, most: int) -> list[str]:
    name = pathlib.Path(unit).name
    if not name.endswith(".service") or not is_mighty(pathlib.Path(unit).read_text(encoding="utf-8")):
        return []
    # It exits with 1 above the threshold, and says what costs most.
    done = subprocess.run([program, "security", "--no-pager", "--offline=yes", f"--threshold={most}", unit],
                          check=False, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    return [f"{name}: more exposed than {most / 10}:", done.stdout.strip(), done.stderr.strip()]


def check_early_exposure(program: str, directory: pathlib.Path) -> list[str]:
    """The units of EARLY_UNITS, in place of those that are in the directory, with what stands there before 255."""
    problems = []
    for name in EARLY_UNITS:
        path = directory / name
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(VALUES["EARLY_PRIVATE_DEVICES"], EARLY_VALUE), encoding="utf-8")
        if EARLY_VALUE not in path.read_text(encoding="utf-8").splitlines():
            problems.append(f"{name}: no {EARLY_VALUE} where systemd is older than 255")
        problems += check_exposure(program, str(path), OLD_EARLY_EXPOSURE_MAX)
    return problems


def self_test() -> None:
    service = "[Unit]\nAfter=a.service\nAfter=systemd-remount-fs.service b.service\n[Service]\nReadWritePaths=-/etc/hugeplan.d\n"
    cases = [
        (service, False),
        (service.replace("systemd-remount-fs.service ", ""), True),
        (service.replace("ReadWritePaths", "ReadOnlyPaths"), True),
        (service + "PrivateDevices=yes\n", True),
        (service + "@EARLY_PRIVATE_DEVICES@\n", False),
    ]
    for text, wanted in ("Type=oneshot\n", True), ("User=x\n", False), ("User=x\nAmbientCapabilities=CAP_X\n", True):
        if is_mighty(text) != wanted:
            sys.exit(f"self-test: is_mighty() for:\n{text}")
    for text, is_bad in cases:
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            (directory / "hugeplan.service.in").write_text(text, encoding="utf-8")
            if bool(check_order(directory)) != is_bad:
                sys.exit(f"self-test: {check_order(directory)} for:\n{text}")


def main() -> int:
    self_test()
    source = pathlib.Path(sys.argv[1])
    problems = check_order(source / "units") + check_places(source / "units", source / "src/model/names.h")
    if problems:
        print("\n".join(problems))
        return 1
    program = shutil.which("systemd-analyze")
    if program is None:
        print("systemd-analyze is not installed")
        return 77
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        units = write_units(source, directory)
        # The colon: and systemd's own directories.
        done = subprocess.run([program, "verify", "--man=no", "--recursive-errors=no", *units],
                              env={**os.environ, "SYSTEMD_UNIT_PATH": f"{directory}:"},
                              check=False, capture_output=True, text=True)
        problems = [line for unit in units for line in check_exposure(
            program, unit, EARLY_EXPOSURE_MAX if pathlib.Path(unit).name in EARLY_UNITS else EXPOSURE_MAX)]
        problems += check_early_exposure(program, directory)
    said = (done.stdout + done.stderr).strip()
    print("\n".join([said, *problems]))
    return 1 if done.returncode or said or problems or len(units) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
