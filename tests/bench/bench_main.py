# SPDX-License-Identifier: LGPL-2.1-or-later
"""The program of scripts/bench: its options, the build, the mount namespace, and a run of the groups."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import datetime
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import document
from groups import GROUPS, IN_GUESTS, NEED_NO_POOLS
from pools import can_reserve, meminfo, pools_kept
from report import Report
from running import BUILD, CHECKOUT, HUGEPLANCTL

DOCUMENT = CHECKOUT / "docs/performance.md"
BUILD_OPTIONS = ("--buildtype=debugoptimized",  # -O2, as packages are built
                 "-Dtests=disabled", "-Dman=disabled", "-Dbench=true")
HIDDEN = ("/etc/hugeplan.d", "/usr/local/lib/hugeplan.d", "/usr/lib/hugeplan.d")
IN_NAMESPACE = "HUGEPLAN_BENCH_NAMESPACE"


def main(text: str) -> int:
    """TEXT: the help; its first paragraph is the summary."""
    options = parse(text)
    if os.geteuid() != 0:
        sys.exit("bench: must be run as root, because it reserves huge pages")
    if not can_reserve():
        sys.exit("bench: huge pages cannot be reserved on this host, or /sys is read-only")
    if IN_NAMESPACE not in os.environ:
        if options.install:
            is_with_guests = any(name in IN_GUESTS for name in chosen(options))
            command = [str(CHECKOUT / "scripts/lib/install-peers"), *(["--guests"] if is_with_guests else [])]
            if subprocess.run(command, check=False).returncode != 0:
                sys.exit("bench: not all compared programs could be installed, see above")
        build()
        enter_namespace()
    os.environ["LC_ALL"] = "C"
    if not Path(HIDDEN[0]).is_dir():  # hugepland would make the directory, and count this boot there
        Path(HIDDEN[0]).mkdir()
        atexit.register(remove_hidden)
    for directory in ("/run", *(path for path in HIDDEN if Path(path).is_dir())):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "bench", directory], check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    host = describe_host()
    print(host)
    reports: dict[str, Report] = {}
    failed: list[str] = []
    try:
        for name in chosen(options):
            try:
                reports[name] = measure_group(name, options)
            except Exception:  # the other groups do not depend on this one
                traceback.print_exc()
                failed.append(name)
    except KeyboardInterrupt:
        print("\nbench: interrupted; the pools were restored")
        return 130
    if options.write and not failed:  # an incomplete page would replace a complete one
        document.write_page(DOCUMENT, GROUPS, reports, host)
    missing = [line for report in reports.values() for line in report.missing]
    if missing:
        print("\nLeft out, or not compared with:", *(f"  {line}" for line in missing), sep="\n")
    if failed:
        print(f"\nbench: FAILED — not measured: {', '.join(failed)}; the errors are above")
    return 1 if failed else 0


def parse(text: str) -> argparse.Namespace:
    summary, _, details = text.partition("\n\n")
    parser = argparse.ArgumentParser(prog="bench", description=summary, epilog=details,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds, to check that the groups work; implies --no-guests")
    parser.add_argument("--no-guests", action="store_true", help=f"leave out {' and '.join(IN_GUESTS)} unless named")
    parser.add_argument("--install", action="store_true", help="install the compared programs, without starting any")
    parser.add_argument("--write", action="store_true", help="make docs/performance.md with its plots; not with a GROUP")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; default: all")
    options = parser.parse_args()
    options.no_guests = options.no_guests or options.quick
    if options.write and (options.groups or options.quick):
        parser.error("the page is made from one whole run: --write takes neither a GROUP nor --quick")
    for name in options.groups:
        if name not in GROUPS:
            parser.error(f"there is no group {name}; there are: {', '.join(GROUPS)}")
    return options


def chosen(options: argparse.Namespace) -> list[str]:
    return options.groups or [name for name in GROUPS if name not in IN_GUESTS or not options.no_guests]


def measure_group(name: str, options: argparse.Namespace) -> Report:
    report = Report(options.quick)
    print(f"\n---- {name} ----", flush=True)
    with contextlib.nullcontext() if name in NEED_NO_POOLS else pools_kept():
        begun = time.monotonic()
        GROUPS[name].measure(report)
    print(f"\n{name}: {time.monotonic() - begun:.0f} s", flush=True)
    return report


# ---- preparation ----


def build() -> None:
    """Configures also an existing build directory, which may have other options."""
    how = ["configure", *BUILD_OPTIONS, str(BUILD)]
    if not (BUILD / "build.ninja").exists():
        how = ["setup", *BUILD_OPTIONS, str(BUILD), str(CHECKOUT)]
    for command in ["meson", *how], ["ninja", "-C", str(BUILD)]:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            sys.exit(f"bench: {command[0]} is not installed; scripts/quickstart installs what a build needs")
        if done.returncode != 0:
            sys.exit(f"{done.stdout[-3000:]}{done.stderr}\nbench: the build in {BUILD} failed, see above")


def enter_namespace() -> None:
    """Executes this program again in a mount namespace."""
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv]
    os.execvpe(command[0], command, {**os.environ, IN_NAMESPACE: "1"})


def remove_hidden() -> None:
    subprocess.run(["umount", "--lazy", HIDDEN[0]], check=False)
    Path(HIDDEN[0]).rmdir()


# ---- the host ----


def describe_host() -> str:
    cpu = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), os.uname().machine)
    load = Path("/proc/loadavg").read_text().split()[0]
    gib = meminfo("MemTotal") / (1 << 30)
    return (f"{cpu}, {os.cpu_count()} CPUs, {gib:.1f} GiB, {distribution()}, kernel {os.uname().release}, load {load}"
            f" before the run, {datetime.date.today().isoformat()}; {what_was_built()}.")


def distribution() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return "an unknown distribution"


def what_was_built() -> str:
    version = first_line([HUGEPLANCTL, "--version"])
    git = ["git", "-c", f"safe.directory={CHECKOUT}", "-C", str(CHECKOUT)]
    commit = first_line([*git, "rev-parse", "--short", "HEAD"])
    if commit and first_line([*git, "status", "--porcelain", "--untracked-files=no", "--", "src", "meson.build"]):
        commit += " with changes"
    compiler = first_line(["cc", "--version"])
    return f"{version}{f' ({commit})' if commit else ''}, {BUILD_OPTIONS[0].removeprefix('--')}, {compiler}"


def first_line(command: list[str]) -> str:
    with contextlib.suppress(OSError):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.partition("\n")[0]
    return ""
