#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""src/ has no constants for properties of the host: its base page size, the memory that a page table maps, its
default huge page size. The topology has these, or says that they are unknown. A constant that only looks like one has
a row here.

usage: check_host_constants.py SOURCE-DIR
"""

from __future__ import annotations

import pathlib
import re
import sys

SUSPECT = re.compile(
    r"\b4 ?\* ?(?:KIB|1024\b(?! ?\*))|(?<!\d )\b2 ?\* ?MIB|\b4 ?(?:K|KiB|kB)\b|/ ?512\b|(?:<<|>>) ?(?:12|21)\b|_SC_PAGE_?SIZE|getpagesize"
    r"|\bPAGE_S(?:IZE|HIFT)\b|(?i:page).*\b4096\b|\b4096\b.*(?i:page)")
# File, a part of the line, and the meaning of the constant.
ALLOWED = [
    ("host/probe.c", "sysconf(_SC_PAGESIZE)", "the topology's own query"),
    ("ipc/varlink_server.c", "others_message_bytes", "a message"),
    ("ipc/varlink_server.h", "of others than root 4 KiB", "a message"),
    ("engines/generic/generic_finder.c", "segment->size_bytes <", "smaller segments are ignored"),
    ("engines/jvm/jvm_options.c", "segmented_bytes", "CodeCache's own"),
    ("engines/jvm/jvm_formula.c", "minimum = 2 * MIB", "Java's minimum"),
    ("engines/jvm/jvm_formula.c", "GC_ZGC", "ZGranuleSize"),
    ("engines/jvm/jvm_formula.c", "[UNIT_CARDS] = 4 * KIB", "bytes for a card of CMS"),
    ("engines/mysql/mariadb_formula.c", "LOG_BUFFER_MIN_BYTES", "MariaDB's minimum"),
    ("engines/mysql/mariadb_formula.c", "minimum = 2 * MIB", "MariaDB's minimum"),
    ("engines/mysql/mariadb_formula.c", "RECOVERY_BUFFER_BYTES", "MariaDB's own"),
    ("engines/mysql/mysql_formula.c", "minimum = 4 * KIB", "innodb_page_size"),
    ("engines/mysql/mysql_formula.c", "write 4K, 8K", "innodb_page_size"),
    ("engines/postgresql/postgresql_segment.c", "1/512 of the buffers", "SLRU buffers for shared buffers"),
    ("engines/postgresql/postgresql_segment.c", "s->buffers / 512", "SLRU buffers for shared buffers"),
    ("engines/postgresql/postgresql_conf.c", "longer than 4K", "a line's length"),
]


def main() -> list[str]:
    source = pathlib.Path(sys.argv[1]) / "src"
    problems, used = [], set()
    for path in sorted(source.rglob("*.[ch]")):
        name = str(path.relative_to(source))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not SUSPECT.search(line):
                continue
            rows = {row for row in ALLOWED if row[0] == name and row[1] in line}
            used |= rows
            if not rows:
                problems.append(f"{path}:{number}: a constant for something of the host? {line.strip()}")
    problems += [f"{__file__}: no line needs the row {row[:2]}" for row in ALLOWED if row not in used]
    for line in ("x = 4 * KIB;", "MAX(page, UINT64_C(4096))", "with pages of 4K", "bytes / 512", "else 2 * MIB"):
        if not SUSPECT.search(line):
            problems.append(f"{__file__}: the pattern does not match '{line}'")
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
