#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""meson.build, debian/changelog, hugeplan.spec, contrib/arch/PKGBUILD and NEWS.md have the same version and date of
release; see "Release" in CONTRIBUTING.md.

usage: check_versions.py SOURCE-DIR
"""

from __future__ import annotations

import email.utils
import pathlib
import re
import sys
import time

SPEC_DATE = "%a %b %d %Y"


def found(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text, re.MULTILINE)
    return match.groups() if match else ()


def date_of_spec(date: str) -> str:
    try:
        return time.strftime("%F", time.strptime(date, SPEC_DATE))
    except ValueError:
        return f"{date}, which is no date"


def versions(texts: dict[str, str]) -> dict[str, str]:
    """The version in each file, by file and place."""
    places = {
        "meson.build": r"^ *version: '([^']+)'",
        "debian/changelog": r"\Ahugeplan \(([^)]+)\)",
        "hugeplan.spec, Version:": r"^Version: *(\S+)$",
        "hugeplan.spec, %changelog": r"^%changelog\n\* .* - (.*)-\d+$",
        "contrib/arch/PKGBUILD": r"^pkgver=(\S+)$",
    }
    return {place: (found(pattern, texts[place.split(",")[0]]) or ("no version",))[0]
            for place, pattern in places.items()}


def check_news(news: str, version: str, date: str) -> list[str]:
    """The topmost heading is this version, or the next one as "unreleased"."""
    headings = re.findall(r"^## (\S+) \((.*)\)$", news, re.MULTILINE)
    if headings and headings[0][0] != version and headings[0][1] == "unreleased":
        headings = headings[1:]
    if not headings or headings[0][0] != version:
        return [f"NEWS.md: there is no heading '## {version} (...)' at the top"]
    if headings[0][1] not in ("unreleased", date):
        return [f"NEWS.md: {version} has the date '{headings[0][1]}', debian/changelog '{date}'"]
    return []


def check(texts: dict[str, str]) -> list[str]:
    there = versions(texts)
    version = there["meson.build"]
    problems = [f"{place}: {other}, in meson.build {version}" for place, other in there.items() if other != version]
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        problems.append(f"meson.build: {version} is not of the form X.Y.Z")
    # The date of the newest entry, as "2026-11-21".
    text = texts["debian/changelog"]
    line = found(r"^ -- .*>  (.*)$", text)
    parsed = email.utils.parsedate(line[0]) if line else None
    date = time.strftime("%F", parsed) if parsed else "no date"
    spec_date = date_of_spec(*found(r"^%changelog\n\* (\w+ \w+ +\d+ \d+) ", texts["hugeplan.spec"]) or ("none",))
    if spec_date != date:
        problems.append(f"hugeplan.spec: the date is {spec_date}, in debian/changelog {date}")
    return problems + check_news(texts["NEWS.md"], version, date)


def self_test() -> None:
    good = {
        "meson.build": "project('hugeplan', 'c',\n        version: '1.2.3',\n",
        "debian/changelog": "hugeplan (1.2.3) unstable; urgency=medium\n\n  * New.\n\n"
                            " -- A <a@b>  Sat, 21 Nov 2026 12:00:00 +0000\n",
        "hugeplan.spec": "Version:        1.2.3\n%changelog\n* Sat Nov 21 2026 A <a@b> - 1.2.3-1\n",
        "contrib/arch/PKGBUILD": "pkgname=hugeplan\npkgver=1.2.3\n",
        "NEWS.md": "# News\n\n## 1.2.3 (2026-11-21)\n",
    }
    wrong = [
        ("meson.build", "1.2.3", "1.2.4"),
        ("meson.build", "1.2.3", "1.2"),
        ("debian/changelog", "1.2.3", "1.2.2"),
        ("debian/changelog", "21 Nov", "22 Nov"),
        ("hugeplan.spec", "Version:        1.2.3", "Version: 1.2.2"),
        ("hugeplan.spec", "1.2.3-1", "1.2.2-1"),
        ("hugeplan.spec", "Nov 21", "Nov 99"),
        ("contrib/arch/PKGBUILD", "1.2.3", "1.2.2"),
        ("NEWS.md", "1.2.3", "1.2.2"),
        ("NEWS.md", "2026-11-21", "2026-11-20"),
    ]
    assert not check(good), check(good)
    for heading in ("## 1.2.3 (unreleased)\n", "## 1.3.0 (unreleased)\n\n## 1.2.3 (2026-11-21)\n"):
        assert not check({**good, "NEWS.md": heading}), heading
    for name, old, new in wrong:
        assert check({**good, name: good[name].replace(old, new)}), f"{name}: {new} passes"


def main() -> list[str]:
    self_test()
    root = pathlib.Path(sys.argv[1])
    names = ("meson.build", "debian/changelog", "hugeplan.spec", "contrib/arch/PKGBUILD", "NEWS.md")
    return check({name: (root / name).read_text(encoding="utf-8") for name in names})


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
