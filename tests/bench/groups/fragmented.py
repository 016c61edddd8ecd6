# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fragmented memory

How many pages each way gets on a node whose memory is in pieces, a guest for each (`tests/vm/bench/fragmented_ways.py`)."""

from __future__ import annotations

from guests import run_guests
from report import Report


def measure(report: Report) -> None:
    for suite, found in run_guests("fragmented_ways"):
        for is_kept, cache in (False, "page cache"), (True, "page cache that a service keeps, MemoryMin="):
            rows = [row for row in found if row["isCacheKept"] == is_kept]
            if not rows:
                report.left_out(f"A node full of {cache}, {suite}", "no guest has measured anything")
                continue
            report.table(f"A node of 1G, fragmented and full of {cache}", ("", "pages", "of", "seconds", "verdict"), [
                [row["way"], str(row["pages"]), str(row["asked"]), f"{row['seconds']:.1f}", row["remark"]]
                for row in rows], f"in qemu, {suite}, kernel {rows[0]['kernel']}; one boot each")
