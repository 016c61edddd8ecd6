#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`hugeplanctl report` of the hosts of several cases: a page is well-formed (as XML, which is more than HTML asks for),
takes nothing from elsewhere, runs nothing, can be read without seeing it, and has contrast; Markdown has whole tables.
Whatever strangers wrote stays a text. Then what becomes of FILE.

usage: run_report.py --hugeplanctl=PROGRAM
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import re
import shlex
import stat
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

import run_cases
import terminal

WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
CASES = ("verify", "busy", "running", "eight-nodes", "no-directory", "no-hugetlb", "no-numa", "found-postgresql",
         "import-sysctl", "mistakes", "state-broken", "linter", "memoryless-node")
EVIL = "<script>alert('1')</script>|`x`\"&amp;*b*"
TEXT_COLORS = ("text", "muted", "good", "attention", "bad")
PART_COLORS = ("before", "instances", "others", "used", "cost")
MANY = 300


def run(program: pathlib.Path, *arguments: str, cwd: pathlib.Path | str = "/", umask: int = 0o022,
        code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*WRAPPER, str(program), *arguments], check=False, cwd=cwd, capture_output=True, text=True,
                          timeout=120, env=run_cases.ENVIRONMENT, umask=umask)
    if done.returncode != code or "Sanitizer" in done.stderr or "runtime error" in done.stderr:
        raise AssertionError(f"{arguments}: exit {done.returncode}\n{done.stderr}")
    return done


# ---- HTML ----

def wrong_in_structure(page: ET.Element) -> list[str]:
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    problems = [f"the id {name} is there {n} times" for name, n in collections.Counter(ids).items() if n > 1]
    levels = [int(element.tag[1]) for element in page.iter() if re.fullmatch("h[1-6]", element.tag)]
    if levels[0] != 1 or levels.count(1) != 1 or any(b > a + 1 for a, b in zip(levels, levels[1:], strict=False)):
        problems.append(f"headings: {levels}")
    for element in page.iter():
        for name, value in element.attrib.items():
            if name.startswith("on") or name in {"href", "src", "style", "srcset", "action", "data"}:
                problems.append(f"<{element.tag} {name}={value}>")
            if name.startswith("aria-labelledby") and value not in ids:
                problems.append(f"{name}={value}, which is not there")
        if element.tag in {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a", "image", "use"}:
            problems.append(f"<{element.tag}>")
        if element.tag == "svg" and not (element.get("aria-hidden") == "true" or
                                         (element.get("role") == "img" and element.get("aria-label"))):
            problems.append("an <svg> that says nothing")
    return problems


def wrong_in_tables(page: ET.Element) -> list[str]:
    problems = []
    for table in page.iter("table"):
        name = table.findtext("caption") or ""
        if not name:
            problems.append("a table without a caption")
        if "bars" in table.get("class", ""):
            continue
        heads = table.findall("thead/tr/th")
        if not heads or any(head.get("scope") != "col" for head in heads):
            problems.append(f"{name}: columns without a name")
        for row in table.findall("tbody/tr"):
            if len(row) != len(heads) or row[0].tag != "th" or row[0].get("scope") != "row":
                problems.append(f"{name}: a row of {len(row)} cells, and {len(heads)} columns")
    return problems


def luminance(color: str) -> float:
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def wrong_in_colors(style: str) -> list[str]:
    """WCAG 2.2, 1.4.3 and 1.4.11; light, then dark."""
    palettes = [dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", block)) for block in re.findall(r":root\{([^}]*--page[^}]*)\}", style)]
    assert len(palettes) == 2, style
    problems = []
    for palette, which in zip(palettes, ("light", "dark"), strict=True):
        for name in TEXT_COLORS:
            for ground in ("page", "soft"):
                if (found := contrast(palette[name], palette[ground])) < 4.5:
                    problems.append(f"{which}: {name} on {ground} has a contrast of {found:.2f}")
        for name in PART_COLORS:
            if (found := contrast(palette[name], palette["page"])) < 3:
                problems.append(f"{which}: {name} has a contrast of {found:.2f}")
    return problems


def wrong_in_html(text: str) -> list[str]:
    if not text.startswith("<!DOCTYPE html>\n"):
        return ["it does not begin as HTML does"]
    page = ET.fromstring(text)
    style = page.findtext("head/style") or ""
    problems = wrong_in_structure(page) + wrong_in_tables(page) + wrong_in_colors(style)
    if re.search(r"https?:|url\(|@import|javascript:", text.replace(EVIL, "")):
        problems.append("it takes something from elsewhere")
    policy = page.find("head/meta[@http-equiv='Content-Security-Policy']")
    if policy is None or not policy.get("content", "").startswith("default-src 'none';"):
        problems.append("it has no policy")
    for name in ("title", "style"):
        if not page.findtext(f"head/{name}"):
            problems.append(f"it has no {name}")
    return problems


# ---- Markdown ----

def wrong_in_markdown(text: str) -> list[str]:
    problems, columns, in_code = [], 0, False
    for line in text.splitlines():
        if line == "```":
            in_code = not in_code
            continue
        if in_code:
            continue
        if re.search(r"(?<!\\)(?:\\\\)*[<`]", line):
            problems.append(f"markup in {line!r}")
        n = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))
        columns = n if columns == 0 or not line.startswith("|") else columns
        if line.startswith("|") and (n != columns or not line.endswith("|")):
            problems.append(f"{n} columns instead of {columns} in {line!r}")
    return problems + (["a block that does not end"] if in_code else [])


# ---- hosts ----

def plant(root: pathlib.Path) -> None:
    """What strangers can write, wherever it is shown."""
    for path, text in {"proc/sys/kernel/hostname": EVIL, "proc/sys/kernel/osrelease": EVIL,
                       "etc/hugeplan.d/90-evil.conf": f"[Instance]\nMemory={EVIL}\n",
                       "etc/sysctl.d/99-evil.conf": f"vm.nr_hugepages={EVIL}\n",
                       "sys/kernel/mm/transparent_hugepage/enabled": f"always [{EVIL}] never\n"}.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def populate(root: pathlib.Path) -> None:
    for i in range(MANY):
        (root / f"etc/hugeplan.d/50-db{i:03}.conf").write_text(f"[Instance]\nPages={i + 1}\nUnit=db{i:03}.service\n")


def check_host(program: pathlib.Path, root: pathlib.Path, name: str) -> list[str]:
    html = run(program, f"--root={root}", "report").stdout
    markdown = run(program, f"--root={root}", "report", "--format=markdown").stdout
    return [f"{name}: {problem}" for problem in [*wrong_in_html(html), *wrong_in_markdown(markdown)]]


def check_evil(program: pathlib.Path, root: pathlib.Path) -> list[str]:
    plant(root)
    problems = check_host(program, root, "planted")
    html = run(program, f"--root={root}", "report").stdout
    shown = "".join(ET.fromstring(html).itertext())
    if "<script" in html or shown.count(EVIL) < 4:
        problems.append(f"planted: shown {shown.count(EVIL)} times")
    return problems


def check_many(program: pathlib.Path, root: pathlib.Path) -> list[str]:
    populate(root)
    began = time.monotonic()
    problems = check_host(program, root, "many")
    page = ET.fromstring(run(program, f"--root={root}", "report").stdout)
    rows = [table for table in page.iter("table") if table.findtext("caption", "").startswith("Instances")][0]
    if len(rows.findall("tbody/tr")) < MANY:
        problems.append("many: instances are missing")
    items = page.findall(".//section[@aria-labelledby='findings']/ul/li")
    if not 1 < len(items) <= 10:
        problems.append(f"many: {len(items)} findings")
    if time.monotonic() - began > 60:
        problems.append("many: it takes too long")
    return problems


# ---- the file ----

def refused(program: pathlib.Path, words: str, *arguments: str, code: int = 1, cwd: pathlib.Path) -> list[str]:
    done = run(program, *arguments, code=code, cwd=cwd)
    return [] if words in done.stderr and not done.stdout else [f"{arguments}: {done.stdout}{done.stderr}"]


def check_files(program: pathlib.Path, root: pathlib.Path, directory: pathlib.Path) -> list[str]:
    problems = []
    for name, begins in (("a.html", "<!DOCTYPE"), ("a.md", "# Huge"), ("b.markdown", "# Huge"), ("c", "<!DOCTYPE")):
        file = directory / name
        file.write_text("before")
        before = file.stat().st_ino
        run(program, f"--root={root}", "report", name, cwd=directory, umask=0o077)
        if not file.read_text().startswith(begins):
            problems.append(f"{name}: {file.read_text()[:40]!r}")
        if stat.S_IMODE(file.stat().st_mode) != 0o644 or file.stat().st_ino == before:
            problems.append(f"{name}: it was written over in place, or its mode is another one")
    run(program, f"--root={root}", "report", "--format=markdown", str(directory / "d.html"))
    if not (directory / "d.html").read_text().startswith("# Huge"):
        problems.append("--format= does not count")
    (directory / "link").symlink_to("a.html")
    os.mkfifo(directory / "fifo")
    for name, words in (("link", "no regular file"), ("fifo", "no regular file"), (".", "no regular file"),
                        ("no/a.html", "No such file or directory"), ("x/", "the name of a directory")):
        problems += refused(program, words, f"--root={root}", "report", name, cwd=directory)
    problems += refused(program, "is not one of html, markdown", "report", "--format=pdf", code=2, cwd=directory)
    problems += refused(program, "have JSON", "--json", "report", code=2, cwd=directory)
    left = sorted(path.name for path in directory.iterdir() if path.name.startswith("."))
    return problems + [f"{name} is left behind" for name in left]


def check_terminal(program: pathlib.Path, root: pathlib.Path) -> list[str]:
    shown = terminal.Foreground([*WRAPPER, str(program), f"--root={root}", "report"])
    shown.read(30)
    return [] if shown.output.startswith("# Huge pages") else [f"on a terminal: {shown.output[:80]!r}"]


def self_test() -> None:
    assert abs(contrast("#000000", "#ffffff") - 21) < 0.01
    assert wrong_in_markdown("| a | b |\n|:--|:--|\n| a|b | c |\n") and wrong_in_markdown("a <b\n")
    assert not wrong_in_markdown("| a | b |\n|:--|:--|\n| a\\|b | \\<c |\n")
    page = ET.fromstring('<html><h1 id="a">x</h1><h2 id="a"><a href="b">x</a></h2><svg></svg></html>')
    assert len(wrong_in_structure(page)) == 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hugeplanctl", type=pathlib.Path, required=True)
    program = parser.parse_args().hugeplanctl.resolve()
    problems: list[str] = []
    self_test()
    for case in CASES:
        with tempfile.TemporaryDirectory(prefix="hugeplan-report-") as name:
            root = pathlib.Path(name).resolve()
            run_cases.make_root(run_cases.HERE / "cases" / case, root)
            problems += check_host(program, root, case)
    with tempfile.TemporaryDirectory(prefix="hugeplan-report-") as name:
        root, directory = pathlib.Path(name, "root"), pathlib.Path(name, "files")
        root.mkdir()
        directory.mkdir()
        run_cases.make_root(run_cases.HERE / "cases" / "verify", root)
        problems += check_files(program, root, directory)
        problems += check_terminal(program, root)
        problems += check_many(program, root)
        problems += check_evil(program, root)
    print("\n".join(problems) or f"{len(CASES)} hosts")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
