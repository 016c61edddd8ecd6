#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Unpacks a fixture host (hosts/NAME.tree, or the NAME.tar of hugeplanctl snapshot) into a directory, for --root=.

usage: unpack_host.py FILE.tree|FILE.tar DIRECTORY

A tree is a list of files. Empty lines and lines that begin with '#' are ignored; the others are one of

    /path = text          a file that holds the text and a newline
    /path <<              a file of the lines that follow, up to a line that is a single '.'
                          (no lines: an empty file)
    /path := word word    a file of the words, each with a NUL byte behind it, as /proc/PID/cmdline has them;
                          quotes as for a shell
    /path -> target       a symbolic link
    /path/                a directory

Captured from a real host with: for each file, its path, ' <<', its lines, '.'. """

from __future__ import annotations

import pathlib
import shlex
import sys
import tarfile
from collections.abc import Iterator


class TreeError(Exception):
    """A line of a tree makes no sense."""


def _lines_until_dot(lines: Iterator[str]) -> str:
    text = []
    for line in lines:
        if line == ".":
            return "".join(f"{line}\n" for line in text)
        text.append(line)
    raise TreeError("the last file is not ended by a line '.'")


def _unpack_line(line: str, lines: Iterator[str], directory: pathlib.Path) -> None:
    name, separator, rest = line.partition(" ")
    path = directory / name.lstrip("/")
    if not name.startswith("/") or ".." in path.parts:
        raise TreeError(f"'{line}' does not begin with a path")
    if name.endswith("/") and not separator:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if rest == "<<":
        path.write_text(_lines_until_dot(lines), encoding="utf-8")
    elif rest.startswith("= "):
        path.write_text(f"{rest[2:]}\n", encoding="utf-8")
    elif rest.startswith(":= "):
        path.write_text("".join(f"{word}\0" for word in shlex.split(rest[3:])), encoding="utf-8")
    elif rest.startswith("-> "):
        path.symlink_to(rest[3:])
    else:
        raise TreeError(f"'{line}' is none of '=', '<<', ':=' and '->'")


def unpack(tree: pathlib.Path, directory: pathlib.Path) -> None:
    if tree.suffix == ".tar":
        with tarfile.open(tree) as archive:
            # Links of a host may lead anywhere: the programs resolve them below their root.
            archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
            archive.extractall(directory)
        return
    lines = iter(tree.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line and not line.startswith("#"):
            try:
                _unpack_line(line, lines, directory)
            except TreeError as error:
                raise TreeError(f"{tree}: {error}") from None


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    unpack(pathlib.Path(sys.argv[1]), directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
