#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hugeplan.service starts when it can count the boot on disk, hugeplan-check.service covers all directories of the
configuration, systemd-analyze verify finds no problem in the units, and systemd-analyze security rates their exposure
low. Skips (77) without systemd-analyze.

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
# Variables that are not the path of a program, with a value that every version of systemd accepts.
VALUES = {"RESTART_PAUSES": "RestartSec=2s", "EARLY_PRIVATE_DEVICES": "PrivateDevices=yes"}


# The exposure by `systemd-analyze security`, in tenths, at most 100.
EXPOSURE_MAX = 8
# Units that a boot waits for lack lines that add no protection to the other ones, but count in the rating; see
# docs/privilege.md.
EARLY_UNITS = ("hugeplan.service",)
EARLY_EXPOSURE_MAX = 13
# The line for systemd before 255, see units/meson.build.
EARLY_VALUE = "InaccessiblePaths=/dev"
OLD_EARLY_EXPOSURE_MAX = 15


def write_units(source: pathlib.Path, directory: pathlib.Path) -> list[str]:
    """Writes the units as they are installed, but with /bin/true for all programs."""
    units = []
    for path in sorted((source / "units").iterdir()):
        name = path.name.removesuffix(".in")
        if name.endswith(SUFFIXES):
            text = re.sub(r"@(\w+)@", lambda match: VALUES.get(match[1], "/bin/true"), path.read_text(encoding="utf-8"))
            (directory / name).write_text(text, encoding="utf-8")
            units.append(str(directory / name))
    return units


def after(text: str) -> set[str]:
    """The units in After= of TEXT."""
    return {word for line in text.splitlines() if line.startswith("After=")
            for word in line.removeprefix("After=").split()}


def check_order(units: pathlib.Path) -> list[str]:
    """The daemon must be able to count a boot on disk before it reserves pages, which may make the boot fail."""
    service = (units / "hugeplan.service.in").read_text(encoding="utf-8")
    problems = []
    if "systemd-remount-fs.service" not in after(service) or not re.search("^ReadWritePaths=-/etc/hugeplan.d", service, re.MULTILINE):
        problems.append("hugeplan.service starts before /etc/hugeplan.d can be written, so a boot that fails by the "
                        "reservation would not be counted")
    if "PrivateDevices=yes" in service.splitlines():
        problems.append("hugeplan.service has PrivateDevices= instead of @EARLY_PRIVATE_DEVICES@, which systemd before 255 "
                        "sets up in /tmp, which is emptied while this unit starts")
    return problems


def check_places(units: pathlib.Path, names: pathlib.Path) -> list[str]:
    """hugeplan-check.service is skipped only if all directories of the configuration are empty."""
    places = re.findall(r'^#define PATH_CONFIG_\w+\s+"(\S+?)"', names.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = {f"ConditionDirectoryNotEmpty=|{place}hugeplan.d" for place in places}
    lines = set((units / "hugeplan-check.service.in").read_text(encoding="utf-8").splitlines())
    problems = [f"hugeplan-check.service has no {one}, so instances there would not be checked"
                for one in sorted(wanted - lines)]
    return problems if wanted else [f"{names}: no directories of the configuration"]


def has_privileges(text: str) -> bool:
    """Whether a unit runs as root or with a capability; other units need no confinement."""
    return not re.search("^User=", text, re.MULTILINE) or "AmbientCapabilities=" in text


def check_exposure(program: str, unit: str, most: int) -> list[str]:
    name = pathlib.Path(unit).name
    if not name.endswith(".service") or not has_privileges(pathlib.Path(unit).read_text(encoding="utf-8")):
        return []
    # Above the threshold it exits with 1, and prints what raises the exposure.
    done = subprocess.run([program, "security", "--no-pager", "--offline=yes", f"--threshold={most}", unit],
                          check=False, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    return [f"{name}: the exposure is above {most / 10}:", done.stdout.strip(), done.stderr.strip()]


def check_early_exposure(program: str, directory: pathlib.Path) -> list[str]:
    """Rates EARLY_UNITS with the line for systemd before 255."""
    problems = []
    for name in EARLY_UNITS:
        path = directory / name
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(VALUES["EARLY_PRIVATE_DEVICES"], EARLY_VALUE), encoding="utf-8")
        if EARLY_VALUE not in path.read_text(encoding="utf-8").splitlines():
            problems.append(f"{name}: no {EARLY_VALUE} for systemd before 255")
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
        if has_privileges(text) != wanted:
            sys.exit(f"self-test: has_privileges() for:\n{text}")
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
        # The colon adds systemd's own directories.
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
