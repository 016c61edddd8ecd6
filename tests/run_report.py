#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`hugeplanctl report` on the hosts of several cases. The page is the template with the JSON of `report --json`, which
contains that of `status --json` and `verify --json`. The template loads nothing, runs only its own script, and has
enough contrast. The page that the script makes (run by node with support/show_page.js) is well-formed, accessible,
shows what the JSON has, and shows texts of third parties as text. Last, `report FILE`.

usage: run_report.py --hugeplanctl=PROGRAM --plain-hugeplanctl=PROGRAM

The plain program, without sanitizers, prints the JSON to compare with; the other one writes the pages. Skips (77) without
node.
"""

from __future__ import annotations

import argparse
import base64
import collections
import copy
import hashlib
import html.parser
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import common

TEMPLATE = common.HERE.parent / "src/render/report.html"
SHOW = common.HERE / "support/show_page.js"
BEGIN, END = '<script type="application/json" id="report">', "</script>"
CASES = ("verify", "busy", "running", "eight-nodes", "no-directory", "no-hugetlb", "no-numa", "found-postgresql",
         "import-sysctl", "mistakes", "state-broken", "linter", "memoryless-node", "exposed", "seen")
EVIL = "<script>alert('1')</script>|`x`\"&amp;<!--*b*"
TEXT_COLORS = ("text", "muted", "good", "attention", "bad")
PART_COLORS = ("before", "instances", "others", "used", "cost")
MANY = 300
MIB = 1 << 20


def run(program: pathlib.Path, *arguments: str, cwd: pathlib.Path | str = "/", umask: int = 0o022,
        code: int = 0) -> subprocess.CompletedProcess[str]:
    done = common.run(program, *arguments, cwd=cwd, timeout=120, umask=umask)
    if done.returncode != code or "Sanitizer" in done.stderr or "runtime error" in done.stderr:
        raise AssertionError(f"{arguments}: exit {done.returncode}\n{done.stderr}")
    return done


# ---- the template ----

class Tags(html.parser.HTMLParser):
    """The tags and texts of the template, as a browser without JavaScript sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = collections.defaultdict(str)
        self.last = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.last = tag if tag != "script" or "id" not in dict(attrs) else "data"

    def handle_data(self, data: str) -> None:
        self.texts[self.last] += data

    def handle_endtag(self, tag: str) -> None:
        self.last = ""


def wrong_in_template(text: str) -> list[str]:
    tags = Tags()
    tags.feed(text)
    problems = wrong_in_colors(tags.texts["style"])
    if not text.startswith("<!DOCTYPE html>\n") or tags.tags[0] != ("html", {"lang": "en"}):
        problems.append("the beginning is no HTML")
    allowed = {"html", "head", "meta", "title", "style", "body", "noscript", "p", "script"}
    problems += [f"<{tag}>" for tag, _ in tags.tags if tag not in allowed]
    problems += [f"<{tag} {name}>" for tag, attributes in tags.tags for name in attributes
                 if name not in {"lang", "charset", "http-equiv", "content", "name", "type", "id"}]
    if re.search(r"https?:|url\(|@import|javascript:", text.replace("http://www.w3.org/2000/svg", "")):
        problems.append("the page loads something")
    if re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", text):
        problems.append("the script may turn texts into elements")
    script = base64.b64encode(hashlib.sha256(tags.texts["script"].encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'"
    if ("meta", {"http-equiv": "Content-Security-Policy", "content": policy}) not in tags.tags:
        problems.append(f"the Content-Security-Policy is not: {policy}")
    if "needs JavaScript" not in tags.texts["p"] or tags.texts["data"] != "null" or not tags.texts["title"]:
        problems.append("the text for browsers without JavaScript is missing, or the title, or the template has data")
    return problems


# ---- the page ----

def shown(page: str) -> ET.Element:
    done = subprocess.run(["node", str(SHOW)], check=False, input=page, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"the script of the page: {done.stderr}")
    return ET.fromstring(done.stdout)


def filled(data: dict[str, Any]) -> str:
    return TEMPLATE.read_text(encoding="utf-8").replace(f"{BEGIN}null", BEGIN + json.dumps(data).replace("<", "\\u003c"))


def wrong_in_structure(page: ET.Element) -> list[str]:
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    problems = [f"{n} elements have the id {name}" for name, n in collections.Counter(ids).items() if n > 1]
    levels = [int(element.tag[1]) for element in page.iter() if re.fullmatch("h[1-6]", element.tag)]
    if levels[0] != 1 or levels.count(1) != 1 or any(b > a + 1 for a, b in zip(levels, levels[1:], strict=False)):
        problems.append(f"headings: {levels}")
    for element in page.iter():
        for name, value in element.attrib.items():
            if name.startswith("on") or name in {"href", "src", "style", "srcset", "action", "data"}:
                problems.append(f"<{element.tag} {name}={value}>")
            if name.startswith("aria-labelledby") and value not in ids:
                problems.append(f"{name}={value}, which does not exist")
        if element.tag in {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a", "image", "use"}:
            problems.append(f"<{element.tag}>")
        if element.tag == "svg" and not (element.get("aria-hidden") == "true" or
                                         (element.get("role") == "img" and element.get("aria-label"))):
                problems.append("an <svg> without a text")
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
    """Contrast by WCAG 2.2, 1.4.3 and 1.4.11, of the light and the dark palette."""
    palettes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
                for block in re.findall(r":root \{([^}]*--page[^}]*)\}", style)]
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


def texts_of(page: ET.Element) -> str:
    return "".join(page.itertext())


def rows_of(page: ET.Element, begins: str) -> list[list[str]]:
    """The cells of the table whose caption begins with BEGINS."""
    table = next(table for table in page.iter("table") if table.findtext("caption", "").startswith(begins))
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]


def drawn_in(page: ET.Element) -> tuple[list[str], list[str]]:
    """The labels of the bars, and the titles of their parts."""
    return ([each.get("aria-label", "") for each in page.iter("svg") if each.get("role") == "img"],
            [each.findtext("title", "") for each in page.iter("rect") if each.find("title") is not None])


# ---- hosts ----

def wrong_in_data(plain: pathlib.Path, root: pathlib.Path, page: str) -> list[str]:
    """The JSON in the page is that of the verbs, and the rest is the template."""
    before, _, rest = page.partition(BEGIN)
    text, _, after = rest.partition(END)
    data = json.loads(text)
    problems = []
    if f"{before}{BEGIN}null{END}{after}" != TEMPLATE.read_text(encoding="utf-8"):
        problems.append("the page is not the template with the JSON in it")
    if data != json.loads(run(plain, f"--root={root}", "--json", "report").stdout):
        problems.append("the page has other JSON than report --json")
    for verb in ("status", "verify"):
        found = common.run(plain, "--json", verb, root=root)
        alone = json.loads(found.stdout)
        if verb == "status":
            for instance in alone["instances"]:
                instance.pop("outcome", None)
            alone["problems"] = data["status"]["problems"]
            if "firstLook" in data["status"] and not alone["instances"]:
                alone["firstLook"] = data["status"]["firstLook"]  # `status --json` does not search the host for databases
        if data[verb] != alone:
            problems.append(f"the page has another {verb} than {verb} --json")
    return problems


def wrong_in_page(data: dict[str, Any], page: ET.Element) -> list[str]:
    """The page shows what the JSON has; of many findings the first ten."""
    text = texts_of(page)
    problems = wrong_in_structure(page) + wrong_in_tables(page)
    wanted = [data["sentence"], *data["leftOut"], *(finding["text"] for finding in data["findings"][:10]),
              *(row["text"] for row in data["verify"]["waste"]),
              *(row[name] for row in data["verify"]["waste"] for name in ("remedy",)),
              *(instance["name"] for instance in data["status"]["instances"]),
              *(size["value"] for size in data["sizes"] if size["value"] and not size["auto"]),
              *(database["title"] for database in data["status"].get("firstLook", {}).get("databases", []))]
    problems += [f"{part!r} is not shown" for part in wanted
                 if re.sub("[\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]", "?", part) not in text]
    if not page.findtext("head/title"):
        problems.append("the page has no title")
    return problems


def page_of(program: pathlib.Path, root: pathlib.Path) -> str:
    return run(program, f"--root={root}", "report", f"--template={TEMPLATE}").stdout


def check_host(programs: argparse.Namespace, root: pathlib.Path, name: str, has_node: bool) -> list[str]:
    page = page_of(programs.hugeplanctl, root)
    data = json.loads(page.partition(BEGIN)[2].partition(END)[0])
    problems = wrong_in_data(programs.plain_hugeplanctl, root, page)
    if has_node:
        problems += wrong_in_page(data, shown(page))
    return [f"{name}: {problem}" for problem in problems]


def plant(root: pathlib.Path) -> None:
    """Plants markup where third parties can write a text that the page shows."""
    for path, text in {"proc/sys/kernel/hostname": EVIL, "proc/sys/kernel/osrelease": EVIL,
                       "etc/hugeplan.d/90-evil.conf": f"[Instance]\nMemory={EVIL}\n",
                       "etc/sysctl.d/99-evil.conf": f"vm.nr_hugepages={EVIL}\n",
                       "sys/kernel/mm/transparent_hugepage/enabled": f"always [{EVIL}] never\n"}.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def check_evil(programs: argparse.Namespace, root: pathlib.Path, has_node: bool) -> list[str]:
    plant(root)
    problems = check_host(programs, root, "planted", has_node)
    page = page_of(programs.hugeplanctl, root)
    if "alert('1')</script" in page or page.count("<script") != TEMPLATE.read_text(encoding="utf-8").count("<script"):
        problems.append("planted: a text ends its element")
    if has_node and texts_of(shown(page)).count(EVIL) < 4:
        problems.append(f"planted: shown {texts_of(shown(page)).count(EVIL)} times")
    (root / "proc/sys/kernel/osrelease").write_bytes(b"6.1\xff\xe2\x80\xae\x1b[2J\n")
    (root / "proc/sys/kernel/hostname").write_text("a\u202eb\u2028c\n")
    page = page_of(programs.hugeplanctl, root)
    if re.search("[\u202e\u2028\x1b]", page) or '"host":"a???b???c"' not in page or '"kernel":"6.1????' not in page:
        problems.append("planted: control characters are in the page")
    return problems


def check_many(programs: argparse.Namespace, root: pathlib.Path, has_node: bool) -> list[str]:
    for i in range(MANY):
        (root / f"etc/hugeplan.d/50-db{i:03}.conf").write_text(f"[Instance]\nPages={i + 1}\nUnit=db{i:03}.service\n")
    began = time.monotonic()
    problems = check_host(programs, root, "many", has_node)
    page = shown(page_of(programs.plain_hugeplanctl, root)) if has_node else None
    if page and len(rows_of(page, "Instances")) < MANY:
        problems.append("many: instances are missing")
    if page and not 1 < len(page.findall(".//section[@aria-labelledby='findings']/ul/li")) <= 10:
        problems.append("many: too few or too many findings")
    if time.monotonic() - began > 60 * common.SLOWNESS:
        problems.append("many: more than a minute")
    return problems


# ---- known figures ----

def check_before_and_after(data: dict[str, Any]) -> list[str]:
    pool = {"node": 0, "pageSizeBytes": 2 * MIB, "total": 600, "free": 500, "surplus": 0, "foreign": 150, "owned": 450,
            "cover": 0}
    data["nodes"] = [{"node": 0, "memoryBytes": 16 << 30}]
    data["status"]["pools"] = [pool, {**pool, "pageSizeBytes": 1 << 30, "total": 0, "free": 0, "foreign": 0, "owned": 0}]
    data["before"] = [{"node": 0, "pageSizeBytes": 2 * MIB, "pages": 100}]
    page = shown(filled(data))
    bars, parts = drawn_in(page)
    problems = [f"before and after: {part} is not in {bars}{parts}" for part in (
        "node 0 before: 200M", "node 0 now: 1.2G of 16G", "node 0 in use: 200M", "there before: 200M",
        "for instances: 900M", "for others: 300M", "in use: 200M") if part not in [*bars, *parts]]
    rows = rows_of(page, "Pools")
    if rows[1:] != [["0", "2M", "100", "600", "+500", "450", "150", "500", "0", "1.2G"]]:
        problems.append(f"pools: {rows}")
    if "7% of the memory; before: 200M" not in texts_of(page):
        problems.append("the share of the memory is not shown")
    data["before"] = None
    page = shown(filled(data))
    if "before: not known" not in texts_of(page) or rows_of(page, "Pools")[1][2:5] != ["-", "600", "-"]:
        problems.append("a value that is not known is shown")
    return problems


def check_savings(data: dict[str, Any]) -> list[str]:
    """Servers with threads have one page table for all; what is not known is no part of the sums."""
    proof = next(each for each in data["verify"]["instances"] if each["server"])
    data["verify"]["instances"] = [
        {**proof, "name": "a", "pageTableBytes": now, "smallPageTableBytes": small, "worstPageTableBytes": worst}
        for now, small, worst in ((10 * MIB, 100 * MIB, 1000 * MIB), (5 * MIB, 50 * MIB, None),
                                  (90 * MIB, 100 * MIB, 500 * MIB), (None, 7 * MIB, 7 * MIB))]
    bars = drawn_in(shown(filled(data)))[0]
    return [f"page tables: {part} is not in {bars}" for part in (
        "now: 105M", "with small pages, up to: 250M", "likewise, with all sessions: 1.5G") if part not in bars]


def check_order(data: dict[str, Any]) -> list[str]:
    """Instances that are not ready come first."""
    instance = data["status"]["instances"][0]
    data["status"]["instances"] = [{**instance, "name": name, "verdict": verdict}
                                   for name, verdict in (("a", "ready"), ("b", "degraded"), ("c", "refused"), ("d", "ready"))]
    data["verify"]["instances"] = []
    found = [row[0][0] for row in rows_of(shown(filled(data)), "Instances")[1:]]
    return [] if found == ["b", "c", "a", "d"] else [f"order of instances: {found}"]


def check_history(data: dict[str, Any]) -> list[str]:
    entry = {"atUSec": 0, "at": "then", "priority": 4, "event": "drift", "kind": None, "text": "t", "unit": None,
             "instances": ["a", "b", "c", "d", "e"], "node": None, "pageSizeBytes": None, "pagesBefore": None,
             "pages": None, "pagesWanted": None, "file": None, "line": None}
    data["history"] = [{**entry, "text": f"event {i}"} for i in range(30)]
    page = shown(filled(data))
    rows = rows_of(page, "What happened")
    if rows[1] != ["then", "drift", "a, b, c and 2 more", "event 5"] or len(rows) != 26 or \
            "The last 25 of 30 entries" not in texts_of(page):
        return [f"history: {rows}"]
    data["history"] = []
    return [] if "Nothing is recorded." in texts_of(shown(filled(data))) else ["an empty history is not shown"]


def check_figures(program: pathlib.Path, root: pathlib.Path) -> list[str]:
    data = json.loads(run(program, f"--root={root}", "--json", "report").stdout)
    checks: list[Callable[[dict[str, Any]], list[str]]] = [check_before_and_after, check_savings, check_order,
                                                           check_history]
    problems = [problem for check in checks for problem in check(copy.deepcopy(data))]
    alone = texts_of(shown(TEMPLATE.read_text(encoding="utf-8")))
    return problems + ([] if "This is the template" in alone else ["the template alone does not say what it is"])


# ---- the file ----

def refused(program: pathlib.Path, words: str, *arguments: str, code: int = 1, cwd: pathlib.Path) -> list[str]:
    done = run(program, *arguments, code=code, cwd=cwd)
    return [] if words in done.stderr and not done.stdout else [f"{arguments}: {done.stdout}{done.stderr}"]


def check_files(program: pathlib.Path, root: pathlib.Path, directory: pathlib.Path) -> list[str]:
    problems = []
    shutil.copy(TEMPLATE, directory / "template")
    page = ("report", "--template=template")
    for name in ("a.html", "b"):
        file = directory / name
        file.write_text("before")
        before = file.stat().st_ino
        run(program, f"--root={root}", *page, name, cwd=directory, umask=0o077)
        if not file.read_text().startswith("<!DOCTYPE"):
            problems.append(f"{name}: {file.read_text()[:40]!r}")
        if stat.S_IMODE(file.stat().st_mode) != 0o644 or file.stat().st_ino == before:
            problems.append(f"{name}: it was written over in place, or its mode is another one")
    (directory / "link").symlink_to("a.html")
    os.mkfifo(directory / "fifo")
    for name, words in (("link", "not a regular file"), ("fifo", "not a regular file"), (".", "not a regular file"),
                        ("no/a.html", "No such file or directory"), ("x/", "the name of a directory")):
        problems += refused(program, words, f"--root={root}", *page, name, cwd=directory)
    problems += refused(program, "standard output; name no file", f"--root={root}", "--json", "report", "d", code=2,
                        cwd=directory)
    problems += refused(program, "install hugeplan again", f"--root={root}", "report", "--template=/none", cwd=directory)
    (directory / "no-template").write_text("<html></html>")
    problems += refused(program, "is not a template", f"--root={root}", "report", "--template=no-template", "e",
                        cwd=directory)
    left = sorted(path.name for path in directory.iterdir() if path.name.startswith(".") or path.name in "de")
    return problems + [f"{name} is left behind" for name in left]


def self_test() -> None:
    assert abs(contrast("#000000", "#ffffff") - 21) < 0.01
    page = ET.fromstring('<html><h1 id="a">x</h1><h2 id="a"><a href="b">x</a></h2><svg></svg></html>')
    assert len(wrong_in_structure(page)) == 4
    template = TEMPLATE.read_text(encoding="utf-8")
    assert wrong_in_template(template.replace("const report", "const  report"))
    assert wrong_in_template(template.replace("<body>", '<body><img src="x">'))


def main() -> int:
    programs = common.parser(__doc__, "hugeplanctl", "plain-hugeplanctl").parse_args()
    has_node = bool(shutil.which("node"))
    self_test()
    problems = [f"report.html: {problem}" for problem in wrong_in_template(TEMPLATE.read_text(encoding="utf-8"))]
    for case in CASES:
        with common.root_of(case) as root:
            problems += check_host(programs, root, case, has_node)
    with common.root_of("verify") as root:
        directory = root.with_name("files")
        directory.mkdir()
        problems += check_files(programs.hugeplanctl, root, directory)
        problems += check_figures(programs.hugeplanctl, root) if has_node else []
        problems += check_many(programs, root, has_node)
        problems += check_evil(programs, root, has_node)
    print("\n".join(problems) or f"{len(CASES)} hosts")
    if not has_node:
        print("node is not installed: the script of the page did not run")
    return 1 if problems or (not has_node and os.environ.get("CI") == "true") else 0 if has_node else 77


if __name__ == "__main__":
    sys.exit(main())
