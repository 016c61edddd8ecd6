# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trees of Debian packages from its mirrors, and the cache of what is made from them.

A cached directory is named by a hash of everything that made it, so a change makes a new one, and none has to be
removed by hand.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

# The names by which apt is told how to reach its mirrors.
APT_TRANSPORT_OPTION = re.compile(r"Acquire::(https?|Check-|Retries|ForceIPv)[^ ]*")

BINFMT = Path("/proc/sys/fs/binfmt_misc")
EMULATED = {"arm64": "qemu-aarch64"}

UNUSED_SEC = 14 * 24 * 3600


class DebianError(Exception):
    """A tree or an image could not be made; the text names the step that failed, and the failure."""


def cache_directory(variable: str, name: str) -> Path:
    """The directory that an environment variable names, or one of the user's cache."""
    explicit = os.environ.get(variable)
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / name


def cached(cache: Path, name: str, build: Callable[[Path], Path]) -> Path:
    """`cache`/`name`. If it is missing, `build` makes it in the empty directory that it gets, and returns its path."""
    cache.mkdir(parents=True, exist_ok=True)
    directory = cache / name
    with _locked(cache / f"{name.rpartition('-')[0]}.lock"):
        if not directory.exists():
            if os.geteuid() != 0:
                raise DebianError(f"building {directory} needs root")
            with tempfile.TemporaryDirectory(prefix=".building-", dir=cache) as work:
                build(Path(work)).rename(directory)
        os.utime(directory)
        # Removes directories, complete or not, that no run has used for a long time.
        oldest = time.time() - UNUSED_SEC
        for entry in cache.iterdir():
            if entry.is_dir() and entry.stat().st_mtime < oldest:
                shutil.rmtree(entry, ignore_errors=True)
    return directory


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def programs_run(architecture: str) -> Iterator[None]:
    """The kernel runs programs of an architecture, by qemu unless it can run them itself."""
    name = EMULATED.get(architecture)
    if not name or (BINFMT / name).exists():
        yield
        return
    if not (BINFMT / "register").exists():
        run(["mount", "-t", "binfmt_misc", "binfmt_misc", str(BINFMT)])
    (BINFMT / "register").write_text(Path(f"/usr/lib/binfmt.d/{name}.conf").read_text())
    try:
        yield
    finally:
        (BINFMT / name).write_text("-1")


def bootstrap(
    suite: str, packages: Iterable[str], tree: Path, options: Iterable[str] = ()
) -> None:
    """Installs Debian's base and these packages into `tree`, with more options of mmdebstrap."""
    command = [
        "mmdebstrap",
        "--quiet",
        "--mode=root",
        "--variant=minbase",
        f"--include={','.join(packages)}",
        "--dpkgopt=force-unsafe-io",
        *(f"--aptopt={option}" for option in _host_apt_options()),
        *options,
        suite,
        str(tree),
        *_host_mirror(suite),
    ]
    run(command)


def _host_apt_options() -> list[str]:
    """The options of apt by which this host reaches its mirrors, such as proxies."""
    lines = run(["apt-config", "dump"]).splitlines()
    return [line for line in lines if APT_TRANSPORT_OPTION.match(line)]


def _host_mirror(suite: str) -> list[str]:
    """This host's mirror of Debian, for another suite; without one, mmdebstrap chooses."""
    wanted = "$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)"
    targets = run(["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"])
    for line in targets.splitlines():
        origin, component, codename, uri = line.split(maxsplit=3)
        # Debian's other archives (updates, security) have a suffix after the code name.
        if origin == "Debian" and component == "main" and codename.isalpha():
            return [f"deb {uri} {suite} main"]
    return []


def run(command: list[str]) -> str:
    """The output of a command; DebianError if it fails or is missing."""
    environment = {**os.environ, "LC_ALL": "C", "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        raise DebianError(f"{command[0]} is not installed; scripts/run-tests installs it") from None
    if done.returncode != 0:
        raise DebianError(f"{command[0]} exited {done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout
