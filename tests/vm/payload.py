# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tar that is laid into the guest's root file system before systemd starts."""

from __future__ import annotations

import functools
import io
import json
import stat
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import BinaryIO

from image import cached_image, is_foreign
from scenario import SYMLINK, Content, Scenario

HERE = Path(__file__).resolve().parent
GUEST_HOME = "/vm"
GUEST_MODULES = (
    "ansible_play.py",
    "boot_cost.py",
    "databases.py",
    "guestlib.py",
    "memory.py",
    "packaged.py",
    "scenario.py",
)

TESTS = HERE.parent
SOURCE = TESTS.parent

# Tools in the guest, as /vm/NAME: linked statically, so that each guest can run them. A scenario names further ones by
# `tools`.
COMMON_TOOLS = ("pages",)
TOOL_SOURCES = {
    "pages": [HERE / "tools/pages.c"],
    "kernel-script": sorted(
        {*TESTS.glob("model/*.c"), *SOURCE.glob("src/base/*.c")} - {TESTS / "model/model_root.c"}
    ),
}
# Files of a tool, in a directory of that name.
TOOL_DATA = {"kernel-script": ("scripts", sorted(TESTS.glob("model/scripts/*.script")))}

# Enabled as their [Install] sections say, if the DESTDIR contains them.
HUGEPLAN_UNITS = ("hugeplan.socket", "hugeplan.service", "hugeplan-check.service")

# Packages in the guest; --packages DIR has a directory for each age.
GUEST_PACKAGES = f"{GUEST_HOME}/packages"
PACKAGE_AGES = ("older", "newer")
PACKAGE_FILES = {"deb": "hugeplan_*.deb", "rpm": "hugeplan-[0-9]*[!c].rpm"}  # no .src.rpm

TEST_TARGET = "hugeplan-vm-test.target"

# Debian's pg_ctlcluster without Perl, which takes longer to start under emulation than the server. The server logs to
# the journal.
PG_CTLCLUSTER = r"""#!/bin/sh
shift # --skip-systemctl-redirect
case $1 in -m) mode="-m $2"; shift 2 ;; esac
version=${1%%-*} name=${1#*-}
exec setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/$version/bin/pg_ctl $mode \
    --silent --pgdata=/var/lib/postgresql/$version/$name \
    --options="-c config_file=/etc/postgresql/$version/$name/postgresql.conf" "$2"
"""

GUEST_FILES: dict[str, Content] = {
    "/usr/bin/pg_ctlcluster": (0o755, PG_CTLCLUSTER),
    # Each start of MariaDB 11.4 and later makes a key for TLS, which takes longer than the rest of the start. After each
    # start Debian's program searches for tables of an older version, and for accounts without a password, which takes
    # as long as a start.
    "/etc/mysql/mariadb.conf.d/80-hugeplan-vm.cnf": "[mariadbd]\nskip_ssl\n",
    "/etc/mysql/debian-start": (0o755, "#!/bin/sh\n"),
    f"/etc/systemd/system/{TEST_TARGET}": """\
[Unit]
Description=Boot Test
Requires=basic.target
Wants=multi-user.target hugeplan-vm-test.service
After=multi-user.target
AllowIsolate=yes
""",
    "/etc/systemd/system/hugeplan-vm-test.service": f"""\
[Unit]
Description=Boot Test Checks
After=multi-user.target

[Service]
Type=oneshot
WorkingDirectory={GUEST_HOME}
ExecStart=/usr/bin/python3 -c "import guestlib; guestlib.main()"
""",
}

# Boots that are measured have events for the devices that units wait for; FASTER_FILES is for the others.
MEASURED_FILES: dict[str, Content] = {
    "/etc/systemd/system/systemd-udev-trigger.service.d/vm.conf": "[Service]\nExecStart=\n"
    "ExecStart=-udevadm trigger --action=add --subsystem-match=block --subsystem-match=tty\n",
}
FASTER_FILES: dict[str, Content] = {
    # No unit waits for a device that exists at boot. Events for all of them, and loading their modules, take a fifth of a
    # boot. Devices that are plugged in later have their events.
    "/etc/systemd/system/systemd-udev-trigger.service": (SYMLINK, "/dev/null"),
    "/etc/systemd/system/systemd-modules-load.service": (SYMLINK, "/dev/null"),
    # The checks read the journal of their own boot only.
    "/etc/systemd/journald.conf.d/vm.conf": "[Journal]\nStorage=volatile\n",
    "/etc/systemd/system/systemd-journal-flush.service": (SYMLINK, "/dev/null"),
}


def write_payload(
    file: BinaryIO,
    origin: Path,
    scenario: Scenario,
    scenario_file: Path,
    suite: str,
    boot_number: int,
    is_evidence_kept: bool,
) -> None:
    """Writes all files for one boot; files of an earlier boot are still on the disk.

    `origin` is the DESTDIR, or the directory of packages if the scenario is packaged. The guest leaves its evidence
    after a failed check, or with `is_evidence_kept`.
    """
    boot = scenario.boots[boot_number]
    is_first = boot_number == 0
    files: dict[str, Content] = dict(boot.files)
    enable = list(boot.enable)
    if is_first:
        laid = {**scenario.files, **scenario.files_on.get(suite, {})}
        ours = GUEST_FILES | (MEASURED_FILES if scenario.is_counted else FASTER_FILES)
        files = {**ours, **_guest_modules(scenario_file), **laid, **files}
        enable = [*scenario.enable, *enable]
        if not scenario.is_packaged:
            enable = [*[unit for unit in HUGEPLAN_UNITS if any(origin.rglob(f"systemd/system/{unit}"))], *enable]
    files[f"{GUEST_HOME}/boot.json"] = json.dumps(
        {
            "scenario": scenario_file.stem,
            "number": boot_number,
            "isRebooted": boot_number + 1 < len(scenario.boots),
            "limitSec": boot.limit_sec * 2 // 3,
            "isEvidenceKept": is_evidence_kept,
        }
    )
    files[f"{GUEST_HOME}/prepare"] = _prepare_script(enable, is_first)
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        if is_first:
            if scenario.is_packaged:
                _add_packages(tar, origin)
            else:
                tar.add(origin, arcname=".", filter=_as_root)
            # The tools are compiled for this host.
            for tool in () if is_foreign(suite) else (*COMMON_TOOLS, *scenario.tools):
                _add_tool(tar, tool)
            if scenario.has_kernel:
                _, kernel, *_ = cached_image(suite).kernel_args("")
                _add_bytes(tar, f"{GUEST_HOME}/kernel", 0o644, Path(kernel).read_bytes())
        for path, content in files.items():
            _add(tar, path, content)


def package_file(packages: Path, age: str, kind: str) -> Path | None:
    """The package of an age, without debug symbols; None unless there is exactly one."""
    found = list((packages / age).glob(PACKAGE_FILES[kind]))
    return found[0] if len(found) == 1 else None


def _add_packages(tar: tarfile.TarFile, packages: Path) -> None:
    for age in PACKAGE_AGES:
        for kind in PACKAGE_FILES:
            # The RPMs are for scenarios that run only with --all.
            if package := package_file(packages, age, kind):
                _add_bytes(tar, f"{GUEST_PACKAGES}/{age}.{kind}", 0o644, package.read_bytes())
    _add_bytes(tar, f"{GUEST_PACKAGES}/systemd.rpm", 0o644, _built_rpm("systemd"))


def _guest_modules(scenario_file: Path) -> dict[str, Content]:
    sources = [*(HERE / name for name in GUEST_MODULES), scenario_file]
    return {f"{GUEST_HOME}/{source.name}": source.read_text() for source in sources}


def _add_tool(tar: tarfile.TarFile, name: str) -> None:
    _add_bytes(tar, f"{GUEST_HOME}/{name}", 0o755, _built_tool(name))
    directory, files = TOOL_DATA.get(name, ("", []))
    for file in files:
        _add_bytes(tar, f"{GUEST_HOME}/{directory}/{file.name}", 0o644, file.read_bytes())


@functools.cache
def _built_tool(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / name
        flags = ["-O2", "-std=gnu17", "-D_GNU_SOURCE", "-static"]
        includes = [f"-I{SOURCE / 'src'}", f"-I{TESTS}"]
        sources = [str(source) for source in TOOL_SOURCES[name]]
        command = ["cc", *flags, *includes, "-o", str(program), *sources, "-lm"]
        subprocess.run(command, check=True)
        return program.read_bytes()


@functools.cache
def _built_rpm(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        command = ["rpmbuild", "-bb", "--nodeps", "--define", f"_topdir {directory}"]
        subprocess.run([*command, HERE / f"{name}.rpmspec"], check=True, capture_output=True)
        (package,) = Path(directory, "RPMS").rglob("*.rpm")
        return package.read_bytes()


def _prepare_script(enable: list[str], is_first: bool) -> str:
    # As the scripts of packages do. The stamps keep systemd from handling the boot as the first one after an update.
    lines = ["systemd-sysusers", "touch /etc/.updated /var/.updated"] if is_first else []
    if enable:
        lines.append(f"SYSTEMD_OFFLINE=1 systemctl --quiet enable {' '.join(enable)}")
    return "\n".join(["set -e", *lines, ""])


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _add(tar: tarfile.TarFile, path: str, content: Content) -> None:
    mode, text = content if isinstance(content, tuple) else (0o644, content)
    member = tarfile.TarInfo(path.lstrip("/"))
    if stat.S_ISLNK(mode):
        member.type, member.linkname = tarfile.SYMTYPE, text
        tar.addfile(member)
        return
    _add_bytes(tar, path, mode, text.encode())


def _add_bytes(tar: tarfile.TarFile, path: str, mode: int, data: bytes) -> None:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.mode, member.size = mode, len(data)
    tar.addfile(member, io.BytesIO(data))
