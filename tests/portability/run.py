#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds a release and runs its tests on Debian 12, 13 and sid, with gcc and clang, without each optional feature, on
i386, and on arm64, riscv64, s390x and ppc64el under qemu; and builds the DEB and Arch's package.

    tests/portability/run.py --tarball FILE --build DIR [--logs DIR] [--table FILE] [LEG...]

Every leg is a chroot from Debian's mirrors, cached in $HUGEPLAN_CHROOT_CACHE (default: ~/.cache/hugeplan-chroots), in
which the user nobody builds and tests without a network. It prints one line; the last line counts all tests. Needs
root. """

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

# Before the imports: no __pycache__ in the source tree.
sys.dont_write_bytecode = True

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests/vm"), str(ROOT / "scripts/lib")]

from count_tests import Count, count_cases, count_run  # noqa: E402
from debian_tree import DebianError, bootstrap, cache_directory, cached  # noqa: E402

SUITES = ("unit", "property", "case")
HOST_COMPILER = re.compile(r"C compiler for the host machine: .*?\((\w+ [\d.]+)")
SHOWN_LINES = 40
NOBODY = 65534

TOOLS = ("gcc", "libc6-dev", "meson", "ninja-build", "pkgconf", "python3")
LIBRARIES = ("libjansson-dev", "libsystemd-dev")
# Optional packages: cmocka, scdoc and systemd.pc, whose package differs by suite.
FEATURES = ("libcmocka-dev", "scdoc")
SYSTEMD_PC = {"bookworm": "systemd", "trixie": "systemd-dev", "sid": "systemd-dev"}
MOVING = ("sid", "forky")
# By Debian's architecture: the compiler's triplet, meson's and qemu's names, the byte order.
FOREIGN = {
    "arm64": ("aarch64-linux-gnu", "aarch64", "aarch64", "little"),
    "s390x": ("s390x-linux-gnu", "s390x", "s390x", "big"),
    "ppc64el": ("powerpc64le-linux-gnu", "ppc64", "ppc64le", "little"),
    "riscv64": ("riscv64-linux-gnu", "riscv64", "riscv64", "little"),
}
CROSS_FILE = """[binaries]
c = '{triplet}-gcc'
ar = '{triplet}-ar'
nm = '{triplet}-nm'
strip = '{triplet}-strip'
pkg-config = 'pkg-config'
exe_wrapper = 'qemu-{qemu}'

[properties]
pkg_config_libdir = ['/usr/lib/{triplet}/pkgconfig', '/usr/share/pkgconfig']

[host_machine]
system = 'linux'
cpu_family = '{family}'
cpu = '{family}'
endian = '{endian}'
"""


@dataclass(frozen=True)
class Chroot:
    """A Debian with PACKAGES; its own programs are of the first architecture."""

    suite: str
    packages: tuple[str, ...]
    architectures: tuple[str, ...] = ("amd64",)

    def path(self) -> Path:
        """The directory of the chroot, which is made if the cache does not have it."""
        cache = cache_directory("HUGEPLAN_CHROOT_CACHE", "hugeplan-chroots")
        age = time.strftime("%G-%V") if self.suite in MOVING else "stable"  # made again each week
        recipe = "\n".join([*self.architectures, *self.packages, age, (ROOT / "tests/vm/debian_tree.py").read_text()])
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:16]
        return cached(cache, f"{self.suite}-{self.architectures[0]}-{digest}", self._build)

    def _build(self, work: Path) -> Path:
        names = " and ".join(self.architectures)
        print(f"# building a chroot of {self.suite} on {names}", file=sys.stderr, flush=True)
        tree = work / "tree"
        options = [
            f"--architectures={','.join(self.architectures)}",
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            "--dpkgopt=path-exclude=/usr/share/man/*",
        ]
        bootstrap(self.suite, self.packages, tree, options)
        return tree


def native(suite: str, *more: str, architecture: str = "amd64") -> Chroot:
    packages = (*TOOLS, *LIBRARIES, *FEATURES, SYSTEMD_PC[suite], *more)
    return Chroot(suite, packages, (architecture,))


BOOKWORM = native("bookworm", "clang")
TRIXIE = native("trixie", "clang")
BARE = Chroot("trixie", (*TOOLS, *LIBRARIES))
I386 = native("bookworm", architecture="i386")
SID = native("sid", "clang")


DEB_TOOLS = ("build-essential", "debhelper")
DEB_BOOKWORM = native("bookworm", *DEB_TOOLS)
DEB_TRIXIE = native("trixie", *DEB_TOOLS)
DEB_SID = native("sid", *DEB_TOOLS, "lintian")
ARCH = native("bookworm", "makepkg", "pacman-package-manager", "file", "libarchive-tools", "xz-utils", "zstd")


def cross(suite: str, *architectures: str, more: tuple[str, ...] = ()) -> Chroot:
    """Compilers and libraries for foreign architectures. qemu has openat2(2) since Debian 13."""
    packages = ["meson", "ninja-build", "pkgconf", "python3", "qemu-user", *more]
    for name in architectures:
        packages += [f"gcc-{FOREIGN[name][0]}", f"libc6-dev-{name}-cross"]
        packages += [f"{package}:{name}" for package in (*LIBRARIES, "libcmocka-dev")]
    return Chroot(suite, tuple(packages), ("amd64", *architectures))


CROSS_TRIXIE = cross("trixie", "arm64", "riscv64")
CROSS_FORKY = cross("forky", "s390x", "ppc64el")
DEB_CROSS = cross("trixie", "arm64", more=(*DEB_TOOLS, "crossbuild-essential-arm64", "pkgconf:arm64", "scdoc", "systemd-dev"))


@dataclass(frozen=True)
class Leg:
    name: str
    chroot: Chroot
    systemd: str  # the expected version; "" for a suite in development
    options: tuple[str, ...] = ()  # of meson setup
    compiler: str = "gcc"
    has_tests: bool = True  # built with -Dtests; if not, only the cases and examples are run
    has_man: bool = True
    environment: tuple[str, ...] = ()
    patience: int = 3  # multiplies the tests' timeouts
    foreign: str = ""  # one of FOREIGN: cross-compiled, and run under qemu
    package: tuple[str, ...] = ()  # the command that builds a package, instead of a build with tests


def foreign_leg(name: str, chroot: Chroot, systemd: str) -> Leg:
    """A leg under qemu, where programs take ten times as long: fewer random runs, and longer timeouts."""
    return Leg(name, chroot, systemd, has_man=False, environment=("HISTORIES=200", "HUGEPLAN_FAULTS=few"), patience=20,
               foreign=name)


def deb_leg(name: str, chroot: Chroot, systemd: str, *arguments: str, options: str = "nocheck",
            compiler: str = "gcc") -> Leg:
    """A leg that builds the DEB; with empty OPTIONS it runs the package's tests."""
    environment = (f"DEB_BUILD_OPTIONS={options}", f"DEB_BUILD_PROFILES={options}")
    return Leg(name, chroot, systemd, compiler=compiler, environment=environment,
               package=("dpkg-buildpackage", "--no-sign", *arguments))


# makepkg finds the release beside the PKGBUILD; --nodeps, because there is no pacman database.
MAKEPKG = """source contrib/arch/PKGBUILD
cp --recursive . "../$pkgname-$pkgver"
tar --directory=.. --create --xz --file="contrib/arch/$pkgname-$pkgver.tar.xz" "$pkgname-$pkgver"
cd contrib/arch && PKGEXT=.pkg.tar.zst makepkg --nodeps"""


LEGS = (
    Leg("bookworm-gcc", BOOKWORM, "252"),
    Leg("bookworm-clang", BOOKWORM, "252", compiler="clang"),
    Leg("trixie-gcc", TRIXIE, "257"),
    Leg("trixie-clang-no-man", TRIXIE, "257", ("-Dman=disabled",), "clang", has_man=False),
    Leg("trixie-gcc-no-tests", TRIXIE, "257", ("-Dtests=disabled",), has_tests=False),
    # Optional features are missing, and not switched off.
    Leg("trixie-gcc-bare", BARE, "257", has_tests=False, has_man=False),
    Leg("i386", I386, "252", environment=("setarch", "i686")),
    Leg("sid-gcc", SID, "", ("--buildtype=release",)),
    Leg("sid-clang", SID, "", ("--buildtype=release",), "clang"),
    foreign_leg("arm64", CROSS_TRIXIE, "257"),
    foreign_leg("riscv64", CROSS_TRIXIE, "257"),
    foreign_leg("s390x", CROSS_FORKY, ""),
    foreign_leg("ppc64el", CROSS_FORKY, ""),
    deb_leg("deb-bookworm", DEB_BOOKWORM, "252"),
    deb_leg("deb-trixie", DEB_TRIXIE, "257", options=""),
    deb_leg("deb-sid", DEB_SID, ""),
    deb_leg("deb-cross-arm64", DEB_CROSS, "257", "--build=binary", "--host-arch=arm64",
            compiler="aarch64-linux-gnu-gcc"),
    Leg("arch-makepkg", ARCH, "252", environment=("HOME=/tmp",), package=("bash", "-ec", MAKEPKG)),
)


class LegError(Exception):
    """A step has failed."""


class Run:
    """One leg, with its build directory and log."""

    def __init__(self, leg: Leg, source: Path, build: Path, log: Path) -> None:
        self.leg = leg
        self.source = source
        self.build = build
        self.log = log
        self.count = Count(0, 0, 0)
        self.remarks: list[str] = []
        self.built_with = "nothing"

    def run(self) -> None:
        """Sets `count`, and `remarks` about failed and skipped tests."""
        shutil.rmtree(self.build, ignore_errors=True)
        self.build.mkdir(parents=True)
        os.chown(self.build, NOBODY, NOBODY)
        self.log.write_text("")
        try:
            self.chroot = self.leg.chroot.path()
            leg = self.leg
            if leg.package:
                self._build_package()
                return
            cross = self._cross_file() if leg.foreign else ()
            # Optimized, as packages are, because gcc warns of more then.
            printed = self._do(
                *("meson", "setup", "--prefix=/usr", "--buildtype=debugoptimized", "-Dwerror=true"),
                *(*cross, *leg.options, "/mnt/build", "/mnt/source"),
            )
            # The leg must test what its name says.
            found = {one["name"]: one["version"] for one in self._info("dependencies")}
            self._note_built_with(printed, found["libsystemd"].split(".")[0])
            if bool(self._info("tests")) != self.leg.has_tests:
                raise LegError(f"there are {'no ' if self.leg.has_tests else ''}tests")
            if any("/man/" in path for path in self._info("installed").values()) != self.leg.has_man:
                raise LegError(f"there are {'no ' if self.leg.has_man else ''}manuals")
            self._do("ninja", "-C", "/mnt/build", "-k", "0")
            if leg.foreign:
                self._do("meson", "install", "-C", "/mnt/build", "--no-rebuild", "--destdir", "/mnt/build/installed")
            if self.leg.has_tests:
                self._run_suites()
            else:
                self._run_cases()
        except (DebianError, LegError) as error:
            self.count.failed += 1
            self.remarks.append(str(error))

    def _note_built_with(self, printed: str, systemd: str) -> None:
        self.built_with = f"{HOST_COMPILER.findall(printed)[0]}, systemd {systemd}"
        if self.leg.systemd not in ("", systemd):
            raise LegError(f"systemd is {systemd} instead of {self.leg.systemd}")

    def _build_package(self) -> None:
        """Builds the package, and checks it with lintian if the chroot has it."""
        self._do("cp", "--recursive", "/mnt/source", "/mnt/build/hugeplan")
        printed = self._do("env", "--chdir=/mnt/build/hugeplan", *self.leg.package)
        self._note_built_with(printed, re.findall(r"Run-time dependency libsystemd found: YES (\d+)", printed)[0])
        if "lintian" in self.leg.chroot.packages:
            changes = next(self.build.glob("*.changes")).name
            self._do("lintian", "--display-info", "--pedantic", "--display-experimental",
                     "--fail-on=error,warning,info,pedantic,experimental", f"/mnt/build/{changes}")
            # lintian accepts lines that groff cannot adjust.
            warned = self._do("sh", "-ec", "for page in /mnt/build/hugeplan/debian/hugeplan/usr/share/man/man?/*; do "
                              "man --warnings --encoding=UTF-8 --troff-device=utf8 -l $page 2>&1 >/dev/null; done")
            if warned:
                raise LegError("man --warnings prints warnings")
        self.count.passed += 1

    def _cross_file(self) -> tuple[str]:
        triplet, family, qemu, endian = FOREIGN[self.leg.foreign]
        text = CROSS_FILE.format(triplet=triplet, family=family, qemu=qemu, endian=endian)
        (self.build / "cross.ini").write_text(text)
        return ("--cross-file=/mnt/build/cross.ini",)

    def _info(self, what: str) -> list | dict:
        return json.loads((self.build / f"meson-info/intro-{what}.json").read_text())

    def _run_suites(self) -> None:
        suites = [word for suite in SUITES for word in ("--suite", suite)]
        patience = ("--timeout-multiplier", str(self.leg.patience))
        self._call(*("meson", "test", "-C", "/mnt/build", "--no-rebuild", "--print-errorlogs"), *(*patience, *suites))
        self.count, self.remarks = count_run(self.build)
        if self.count == Count(0, 0, 0):
            raise LegError("no test was run")

    def _run_cases(self) -> None:
        """The cases need only Python and the programs."""
        programs = {
            "hugeplanctl": "--hugeplanctl=/mnt/build/src/hugeplanctl",
            "generator": "--generator=/mnt/build/src/hugeplan-generator",
        }
        for test, arguments in {
            "run_cases.py": (programs["hugeplanctl"], programs["generator"]),
            "run_examples.py": (programs["hugeplanctl"], "--examples=/mnt/source/conf/examples"),
        }.items():
            code, output = self._call("python3", f"/mnt/source/tests/{test}", *arguments)
            self.count += count_cases({"stdout": output, "result": "FAIL" if code else "OK"})

    def _do(self, *command: str) -> str:
        code, output = self._call(*command)
        if code != 0:
            raise LegError(f"{' '.join(command[:2])} exited {code}")
        return output

    def _call(self, *command: str) -> tuple[int, str]:
        namespaces = ("--mount", "--pid", "--net", "--fork", "--kill-child")
        whole = [
            *("unshare", *namespaces, "sh", str(HERE / "enter.sh")),
            *(str(self.chroot), str(self.source), str(self.build)),
            *(f"CC={self.leg.compiler}", *self.leg.environment, *command),
        ]
        done = subprocess.run(
            whole,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        with self.log.open("a") as log:
            log.write(f"+ {' '.join(command)}\n{done.stdout}\n")
        return done.returncode, done.stdout


def main() -> int:
    options = parse_arguments()
    source = unpack(options.tarball, options.build / "source")
    total = Count(0, 0, 0)
    for leg in options.legs:
        began = time.monotonic()
        run = Run(leg, source, options.build / leg.name, options.logs / f"{leg.name}.log")
        run.run()
        total += run.count
        print(f"# {leg.name}: {run.count}, {time.monotonic() - began:.0f} s", flush=True)
        if options.table:
            write_row(options.table, run)
        for remark in run.remarks:
            print(f"#   {remark}", flush=True)
        if run.count.failed:
            show_end(run.log)
            continue
        if (run.build / "installed").is_dir():
            keep_programs(run.build / "installed", options.build / "installed" / run.leg.foreign)
        shutil.rmtree(run.build)
    print(total, flush=True)
    return 1 if total.failed else 0


def keep_programs(installed: Path, kept: Path) -> None:
    """Keeps the installed programs for boots of that architecture."""
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(exist_ok=True)
    installed.rename(kept)


def parse_arguments() -> argparse.Namespace:
    by_name = {leg.name: leg for leg in LEGS}
    parser = argparse.ArgumentParser(description="Builds and tests hugeplan in chroots.")
    parser.add_argument("--tarball", type=Path, required=True, help="a release, by meson dist")
    parser.add_argument("--build", type=Path, required=True, help="where to build")
    parser.add_argument("--logs", type=Path, help="default: where it builds")
    parser.add_argument("--table", type=Path, help="a copy of docs/portability.md, to write the rows of these legs")
    parser.add_argument("legs", nargs="*", metavar="LEG", help=", ".join(by_name))
    options = parser.parse_args()
    if unknown := [name for name in options.legs if name not in by_name]:
        parser.error(f"no such leg: {', '.join(unknown)}; there are {', '.join(by_name)}")
    if os.geteuid() != 0:
        parser.error("chroots need root")
    options.legs = [by_name[name] for name in options.legs] or LEGS
    options.build = options.build.resolve()
    options.logs = (options.logs or options.build).resolve()
    options.logs.mkdir(parents=True, exist_ok=True)
    return options


def unpack(tarball: Path, directory: Path) -> Path:
    """Unpacks the release; returns its directory."""
    shutil.rmtree(directory, ignore_errors=True)
    with tarfile.open(tarball) as archive:
        archive.extractall(directory)
    (source,) = directory.iterdir()
    return source


def write_row(table: Path, run: Run) -> None:
    """Replaces the row of a leg, or adds it at the end."""
    leg = run.leg
    words = [leg.name, leg.chroot.suite, run.built_with, " ".join(leg.options), time.strftime("%F"), str(run.count)]
    row = f"| {' | '.join(words)} |".replace("|  |", "| |")
    lines = table.read_text().splitlines()
    at = [number for number, line in enumerate(lines) if line.startswith(f"| {leg.name} |")]
    lines[at[0] if at else len(lines):at[0] + 1 if at else len(lines)] = [row]
    table.write_text("\n".join(lines) + "\n")


def show_end(log: Path) -> None:
    print(f"#   the end of {log}:", flush=True)
    for line in log.read_text().splitlines()[-SHOWN_LINES:]:
        print(f"#   | {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
