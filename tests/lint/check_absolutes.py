#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Messages do not claim more than was examined. Each text of import, check, verify, plan and status with a word such as
"nothing" or "never" has a row here that names the evidence; others are refused.

usage: check_absolutes.py SRC-DIR
"""

from __future__ import annotations

import pathlib
import re
import sys

PLACES = ("check/**/*.[ch]", "render/*.c", "ctl/migrate/*.c", "ctl/verb_check.c", "ctl/verb_cmdline.c", "ctl/verb_size.c",
          "ctl/verb_reload.c", "ctl/observe/verb_verify.c", "engines/finder*.c", "engines/*/*_finder.c", "engines/*/*_products.c",
          "inspect/setting_sources.c", "status/waste.c", "status/history_read.c")
ABSOLUTE = re.compile(r"\b(nothing|nobody|never|always|none|no (other|one|unit|service|program|database|file|instance|"
                      r"pool|line)s?)\b", re.IGNORECASE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')

# A part of the text, and the evidence.
KNOWN = {
    # The sentence itself names what was examined.
    "nothing that was read sets as many": "the places that import lists",
    "Nothing that was looked at sets pools": "the places that import lists",
    "no unit that was read starts": "unit files, .wants directories",
    # The configuration, or its plan.
    "No instance is in effect on this host yet": "the configuration, and the plan in effect",
    "no instance is described": "the configuration",
    "and no instance of that name": "the configuration",
    "o instances are described in /etc/hugeplan.d": "the configuration",
    "belong to no instance": "the configuration, and the units that use the pages",
    "none of the databases that are described runs": "the configuration, and the units' control groups",
    "the plan needs nothing on the kernel command line": "the plan",
    "for the units that want none": "a remedy, for the administrator to decide",
    "If nothing needs these pages": "a remedy, for the administrator to decide",
    # Actions of hugeplanctl itself.
    "There is nothing to write": "the files to write",
    "the reload is refused, and nothing was changed": "the daemon's answer",
    "and changes nothing else": "the effect of --write",
    "Nothing was written": "the effect of plan",
    "No pool has or gets any pages": "the kernel's counts, and the plan",
    "Nothing can be changed, though not every instance": "the plan",
    "nothing to do": "the plan",
    "Nothing was measured yet": "90-learned.conf of the instance",
    "Nothing was learned yet": "90-learned.conf of the instance",
    # Counts of the kernel.
    "planned for no instance and not in use": "the plan, and the kernel's counts of free and reserved pages",
    "never touched": "the kernel's counts of reserved and used pages",
    "next to nothing": "arithmetic of page tables",
    # The control group of a process.
    "runs in no service": "its control group",
    "in no unit of the host": "its control group",
    # The files that were read.
    "a template: no instance of it": "unit files, .wants directories, processes",
    "Oracle ships no unit": "the product",
    "it needs none: it takes no reserved huge pages": "the product's documentation",
}
# Texts of one word: values of transparent huge pages and of other files, cells of tables.
WORDS = {"never", "always", "none", "nothing", "nobody", "NONE", "no unit"}


def literals(text: str) -> list[str]:
    plain = COMMENT.sub("", text)
    return ["".join(LITERAL.findall(match[0])).replace("\\n", " ").strip() for match in LITERALS.finditer(plain)]


def is_known(literal: str) -> str | None:
    return next((row for row in KNOWN if row in literal), None)


def check(src: pathlib.Path) -> list[str]:
    problems, used = [], set()
    for path in sorted({path for place in PLACES for path in src.glob(place)}):
        for literal in literals(path.read_text(encoding="utf-8")):
            if literal in WORDS or not ABSOLUTE.search(literal):
                continue
            row = is_known(literal)
            used.add(row)
            if row is None:
                problems.append(f"{path.relative_to(src)}: \"{literal}\" is absolute: name what was examined, and add a row")
    return problems + [f"no text has \"{row}\": remove the row" for row in KNOWN.keys() - used]


def self_test() -> None:
    text = '/* "nothing" */ f("a \\"b\\"" "nothing sets it", "fine");\n'
    assert literals(text) == ['a \\"b\\"nothing sets it', "fine"], literals(text)
    assert is_known("nothing sets huge pages on this host") is None
    assert is_known("; nothing that was read sets as many, it seems")


def main() -> list[str]:
    self_test()
    return check(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
