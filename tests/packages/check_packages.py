#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The packages: their files, their scripts, the hardening of their programs, and reproducible builds.

    tests/packages/check_packages.py --packages DIR [--all]

DIR has the packages of scripts/package-deb and, with --all, of scripts/package-rpm, built twice from the same commit, in
older and again; with --all, newer has an RPM of a higher version. Without --all there is one RPM, in older. Every check
prints a line; the last line counts them.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The units that are enabled.
UNITS = {"hugeplan.service", "hugeplan.socket", "hugeplan-check.service"}

# In both packages, as Debian 13 and Fedora spell them: below /usr, manuals not compressed.
FILES = {
    "/etc/hugeplan.d",
    "/usr/bin/hugeplanctl",
    "/usr/lib/hugeplan/after-stop",
    "/usr/lib/hugeplan/hugepland",
    "/usr/lib/systemd/catalog/hugeplan.catalog",
    "/usr/lib/systemd/system-generators/hugeplan-generator",
    "/usr/lib/systemd/system/hugeplan-metrics.service",
    "/usr/lib/systemd/system/hugeplan-metrics.timer",
    "/usr/lib/systemd/system/hugeplan-report.service",
    "/usr/lib/systemd/system/hugeplan-report.socket",
    "/usr/lib/systemd/system/hugeplan-wait@.service",
    "/usr/lib/sysusers.d/hugeplan.conf",
    "/usr/share/bash-completion/completions/hugeplanctl",
    "/usr/share/fish/vendor_completions.d/hugeplanctl.fish",
    *(f"/usr/share/hugeplan/monitoring/{name}"
      for name in ("hugeplan-dashboard.json", "hugeplan.rules.yml")),
    "/usr/share/hugeplan/report.html",
    *(f"/usr/share/hugeplan/schema/{path.name}" for path in (ROOT / "schema").glob("*.json")),
    "/usr/share/man/man1/hugeplanctl.1",
    "/usr/share/man/man5/hugeplan.d.5",
    "/usr/share/man/man7/hugeplan.7",
    "/usr/share/man/man7/hugeplan-rules.7",
    "/usr/share/man/man8/hugepland.8",
    "/usr/share/man/man8/hugeplan-generator.8",
    "/usr/share/man/man8/hugeplan.service.8",
    *(f"/usr/lib/systemd/system/{unit}" for unit in UNITS),
}
DEB_FILES = FILES | {"/usr/share/zsh/vendor-completions/_hugeplanctl"}
RPM_FILES = FILES | {"/usr/lib/systemd/system-preset/85-hugeplan.preset", "/usr/share/zsh/site-functions/_hugeplanctl"}

# Documentation and files for a distribution's tools.
ANYTHING_BELOW = ("/usr/share/doc/", "/usr/share/licenses/", "/usr/share/lintian/overrides/", "/usr/lib/.build-id/")

DEB, RPM = "hugeplan_*.deb", "hugeplan-[0-9]*[!c].rpm"  # the binary packages

LIBRARIES = {"libc.so.6", "libjansson.so.4"}
LOADED = {"libsystemd.so.0"}  # by dlopen(3)

# Scripts must not change databases, pools or groups, nor do what systemd's own triggers do. Debian's purge only reads
# the pools, to say that they stay.
FORBIDDEN_IN_SCRIPTS = re.compile(
    r"sysctl (-|--)|systemctl (re)?start (?!hugeplan)|postgres|mariadb|mysql|oracle"
    r"|groupadd|addgroup|journalctl|>\s*/(sys|proc)/"
)


class Report:
    """Prints and counts the results."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, is_ok: object, text: str, detail: object = None) -> None:
        if is_ok:
            self.passed += 1
        else:
            self.failed += 1
        number = self.passed + self.failed
        print(f"{'ok' if is_ok else 'not ok'} {number} - {text}", flush=True)
        if not is_ok and detail is not None:
            for line in str(detail).splitlines():
                print(f"#   {line}", flush=True)

    def check_equal(self, actual: object, expected: object, text: str) -> None:
        self.check(actual == expected, text, f"expected {expected!r}\ngot      {actual!r}")

    def finish(self) -> int:
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def main() -> int:
    options = parse_arguments()
    report = Report()
    older, again, newer = (options.packages / age for age in ("older", "again", "newer"))
    deb, rpm = only(older, DEB), only(older, RPM)
    check_versions(deb, rpm, report)
    check_same(older, again, ("*.deb", "*.tar.xz"), report)
    if options.all:
        check_newer_rpm(rpm, only(newer, RPM), report)
        check_same(older, again, ("*.rpm",), report)
    with tempfile.TemporaryDirectory() as directory:
        check_deb(deb, Path(directory, "deb"), report)
        check_rpm(rpm, Path(directory, "rpm"), report)
    check_lintian(only(older, "*.changes"), report)
    check_rpmlint([*older.glob("*.rpm"), ROOT / "hugeplan.spec"], report)
    return report.finish()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Checks of hugeplan's packages.")
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--all", action="store_true", help="the RPM was built as often as the DEB")
    return parser.parse_args()


def only(directory: Path, pattern: str) -> Path:
    found = sorted(directory.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{directory} should hold one {pattern}, and holds {[str(one) for one in found]}")
    return found[0]


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} exited {done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout


# ---- the packages as such ----


def check_versions(deb: Path, rpm: Path, report: Report) -> None:
    """The packages have the version of meson.build."""
    match = re.search(r"^ *version: '([^']+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)
    project = match[1] if match else None
    version = run("dpkg-deb", "--field", deb, "Version").strip()
    report.check_equal(version, project, "the DEB has meson.build's version")
    rpm_version = run("rpm", "-qp", "--queryformat", "%{VERSION}", rpm)
    report.check_equal(rpm_version, project, "the RPM has meson.build's version")


def check_newer_rpm(rpm: Path, newer: Path, report: Report) -> None:
    releases = [run("rpm", "-qp", "--queryformat", "%{EVR}", one) for one in (newer, rpm)]
    compare = '%{{lua: print(rpm.vercmp("{}", "{}"))}}'.format(*releases)
    report.check_equal(run("rpm", "--eval", compare).strip(), "1", "the other RPM is newer")


def check_same(one: Path, other: Path, patterns: tuple[str, ...], report: Report) -> None:
    for pattern in patterns:
        files = sorted(path.name for path in one.glob(pattern))
        report.check(files, f"{one.name}: there are files {pattern}")
        for name in files:
            again = other / name
            is_same = again.exists() and again.read_bytes() == (one / name).read_bytes()
            report.check(is_same, f"{name}: built twice, the same bytes", f"{one / name}, {again}")


def check_deb(deb: Path, directory: Path, report: Report) -> None:
    run("dpkg-deb", "--raw-extract", deb, directory)
    control = directory / "DEBIAN"
    found = contents(directory, lambda path: path.relative_to(directory).parts[0] != "DEBIAN")
    check_files("DEB", found, DEB_FILES, report)
    scripts = {path.name: path.read_text() for path in control.glob("p*") if path.is_file()}
    report.check_equal(set(scripts), {"postinst", "prerm", "postrm"}, "DEB: the scripts")
    check_scripts("DEB", "\n".join(scripts.values()), report)
    report.check(not (control / "conffiles").exists(), "DEB: there are no conffiles")
    restarted = set(re.findall(r"\$_dh_action '([^']+)'", scripts["postinst"]))
    report.check_equal(restarted, {"hugeplan.service"}, "DEB: only the daemon is restarted")
    enabled = set(re.findall(r"deb-systemd-helper enable '([^']+)'", scripts["postinst"]))
    # These are enabled only if an administrator had enabled them before.
    enabled -= set(re.findall(r"deb-systemd-helper debian-installed '([^']+)'", scripts["postinst"]))
    report.check_equal(enabled, UNITS, "DEB: all units are enabled")
    stopped = re.findall(r"deb-systemd-invoke stop ((?:'[^']+' ?)+)", scripts["prerm"])
    report.check_equal(set(re.findall(r"'([^']+)'", " ".join(stopped))),
                       UNITS | {"hugeplan-report.socket", "hugeplan-metrics.timer"}, "DEB: removal stops all units")
    check_programs("DEB", directory, report)
    check_manuals(directory, report)


def check_rpm(rpm: Path, directory: Path, report: Report) -> None:
    directory.mkdir()
    archive = subprocess.run(["rpm2cpio", rpm], capture_output=True, check=True).stdout
    unpack = ["cpio", "--quiet", "--extract", "--make-directories"]
    subprocess.run(unpack, input=archive, cwd=directory, check=True)
    check_files("RPM", contents(directory, lambda _: True), RPM_FILES, report)
    names = "[%{FILEUSERNAME}:%{FILEGROUPNAME}\n]"
    owners = set(run("rpm", "-qp", "--queryformat", names, rpm).split())
    report.check_equal(owners, {"root:root"}, "RPM: root owns all files")
    lines = run("rpm", "-qp", "--requires", rpm).splitlines()
    needed = {re.split(r"[ (]", line)[0] for line in lines} - {"rpmlib", "rtld"}
    report.check_equal(needed, {"/bin/sh", "systemd"} | LIBRARIES | LOADED, "RPM: the dependencies")
    scripts = run("rpm", "-qp", "--scripts", rpm)
    check_scripts("RPM", scripts, report)
    for what, units in {
        "install-system-units": UNITS,
        "remove-system-units": UNITS | {"hugeplan-metrics.timer", "hugeplan-report.socket"},
        "mark-restart-system-units": {"hugeplan.service"},
    }.items():
        named = re.search(rf"systemd-update-helper {what} (.*?) *\|\|", scripts)
        report.check_equal(set(named[1].split()) if named else None, units, f"RPM: {what}")
    preset = (directory / "usr/lib/systemd/system-preset/85-hugeplan.preset").read_text()
    enabled = set(re.findall(r"^enable (\S+)$", preset, re.MULTILINE))
    report.check_equal(enabled, UNITS, "RPM: the preset enables all units")
    check_programs("RPM", directory, report)


def contents(directory: Path, is_wanted: Callable[[Path], bool]) -> set[str]:
    """The files and the empty directories."""
    return {
        "/" + str(path.relative_to(directory))
        for path in directory.rglob("*")
        if is_wanted(path) and (path.is_symlink() or not path.is_dir() or not any(path.iterdir()))
    }


def check_files(kind: str, found: Iterable[str], expected: set[str], report: Report) -> None:
    plain = {re.sub(r"^/lib/", "/usr/lib/", path) for path in found}
    plain = {re.sub(r"^(/usr/share/man/.*)\.gz$", r"\1", path) for path in plain}
    missing = expected - plain
    report.check(not missing, f"{kind}: all files are there", sorted(missing))
    more = {path for path in plain - expected if not path.startswith(ANYTHING_BELOW)}
    report.check(not more, f"{kind}: there are no other files, and none for sysctl.d", sorted(more))


def check_scripts(kind: str, text: str, report: Report) -> None:
    found = [line for line in text.splitlines() if FORBIDDEN_IN_SCRIPTS.search(line)]
    report.check(not found, f"{kind}: scripts do not change pools, databases and groups", found)


# ---- the programs ----


def check_programs(kind: str, directory: Path, report: Report) -> None:
    programs = [path for path in directory.rglob("hugeplan*")
                if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    report.check_equal(len(programs), 3, f"{kind}: three programs")
    for path in programs:
        check_hardening(f"{kind}: {path.name}", path, report)
    dynamic = "".join(run("readelf", "--wide", "--dynamic", path) for path in programs)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    report.check_equal(needed, LIBRARIES, f"{kind}: the programs are linked with the libraries that they use")
    notes = set().union(*(re.findall(rb'"soname":\["([^"]+)"\]', path.read_bytes()) for path in programs))
    report.check_equal({note.decode() for note in notes}, LOADED, f"{kind}: libraries that are loaded later are noted (.note.dlopen)")


def check_hardening(name: str, program: Path, report: Report) -> None:
    headers = run("readelf", "--wide", "--file-header", "--program-headers", program)
    dynamic = run("readelf", "--wide", "--dynamic", program)
    symbols = set(re.findall(r"UND (\w+)", run("readelf", "--wide", "--dyn-syms", program)))
    flags = " ".join(re.findall(r"\(FLAGS(?:_1)?\)\s+(.*)", dynamic))
    report.check("DYN (" in headers and re.search(r"\bPIE\b", flags), f"{name} is a PIE", flags)
    is_relro = "GNU_RELRO" in headers and re.search(r"\b(BIND_)?NOW\b", flags)
    report.check(is_relro, f"{name} has full RELRO, bound at once", flags)
    report.check("__stack_chk_fail" in symbols, f"{name} has stack protectors")
    fortified = {one for one in symbols if re.fullmatch(r"__\w+_chk", one)}
    report.check(fortified, f"{name} is fortified", sorted(symbols))
    stack = re.search(r"GNU_STACK .* (R?W?E?) +0x", headers)
    report.check(stack and "E" not in stack[1], f"{name} has no executable stack", headers)


# ---- linters ----


# The overrides are for a current lintian. Debian 12's knows neither newer tags nor the current policy, and demands an
# init script, which could not replace a generator, notifications and gates in units.
OLD_LINTIAN = re.compile(
    r": (alien-tag redundant-|unused-override package-uses-old-debhelper-compat-version |newer-standards-version "
    r"|duplicate-override-context |package-supports-alternative-init-but-no-init\.d-script )"
)


def check_lintian(changes: Path, report: Report) -> None:
    command = ["lintian", "--allow-root", "--display-info", "--pedantic", "--display-experimental", str(changes)]
    done = subprocess.run(command, capture_output=True, text=True)
    # Lintian warns of running as root, and counts the overrides ("N:").
    said = [line for line in (done.stdout + done.stderr).splitlines()
            if line.strip() and not line.startswith("N:") and not OLD_LINTIAN.search(line)
            and "with root privileges" not in line]
    report.check(not said, "lintian finds no problem", "\n".join(said))


def check_manuals(directory: Path, report: Report) -> None:
    """mandoc finds no problem in the manuals; lintian uses groff. Some paragraph macros of scdoc have no effect."""
    pages = sorted(path for path in directory.rglob("usr/share/man/man?/*.gz") if not path.is_symlink())
    report.check_equal(len(pages), 5, "five manuals")
    for path in pages:
        page = gzip.decompress(path.read_bytes())
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True)
        said = [line for line in (done.stdout + done.stderr).decode().splitlines()
                if "skipping paragraph macro: PP " not in line]
        report.check(not said, f"mandoc finds no problem in {path.stem}", "\n".join(said))


def check_rpmlint(files: list[Path], report: Report) -> None:
    config = ROOT / "tests/packages/rpmlint.toml"
    command = ["rpmlint", "--config", str(config), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    remarks = re.findall(r"^\S+:.* [EW]: .*", done.stdout, re.MULTILINE)
    verdict = re.search(r"checked; (\d+) errors, (\d+) warnings", done.stdout)
    is_clean = verdict and verdict.groups() == ("0", "0") and not remarks
    report.check(is_clean, "rpmlint finds no problem", done.stdout + done.stderr)


if __name__ == "__main__":
    sys.exit(main())
