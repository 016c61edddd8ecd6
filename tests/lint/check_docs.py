#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The man pages have every configuration key, verb, option, field of JSON and rule, and no other rule; the
completions have every verb and option.

usage: check_docs.py SOURCE-DIR
"""

from __future__ import annotations

import json
import pathlib
import re
import sys

KEY_ROW = re.compile(r'\{\s*SECTION_(HOST|INSTANCE),\s*"(\w+)",\s*\w+,\s*(?:"([^"]*)"|NULL)')
VERB_ROW = re.compile(r'^\s*\{"([a-z-]+)",\s*"', re.MULTILINE)
# Verbs without a help text are only for hugeplan's own units.
SHOWN_VERB_ROW = re.compile(r'^\s*\{"([a-z-]+)",(?![^{}]*\bNULL\},)\s*"', re.MULTILINE)
RULE_ROW = re.compile(r'X\(\w+, "([a-z0-9-]+)", (\w+), (true|false)\)')
RULE_ENTRY = re.compile(r"^([a-z0-9-]+) \(((?:error|warning|notice)(?:, hurts)?)\)$", re.MULTILINE)
LONG_OPTION = re.compile(r'\{"([a-z-]+)",\s*(?:no|required|optional)_argument')


def table(text: str, start: str) -> str:
    """The initializer that begins with START."""
    at = text.index(start)
    return text[at:text.index("\n};", at)]


def keys(root: pathlib.Path) -> list[tuple[str, str, str | None]]:
    text = (root / "src/config/config_keys.c").read_text(encoding="utf-8")
    return [(section, name, default or None)
            for section, name, default in KEY_ROW.findall(table(text, "config_keys[] = {"))]


def verbs(root: pathlib.Path, row: re.Pattern[str]) -> list[str]:
    text = (root / "src/ctl/verbs.c").read_text(encoding="utf-8")
    return row.findall(table(text, "const Verb verbs[] = {"))


def engines(root: pathlib.Path) -> list[str]:
    return [name for path in sorted((root / "src/engines").glob("*/*_traits.c"))
            for name in re.findall(r'\.name = "(\w+)"', path.read_text(encoding="utf-8"))]


def options(path: pathlib.Path) -> list[str]:
    return sorted({f"--{name}" for name in LONG_OPTION.findall(path.read_text(encoding="utf-8"))})


def plain(page: str) -> str:
    """A page of scdoc without emphasis and escapes."""
    return re.sub(r"[*_\\]", "", page)


def missing_keys(root: pathlib.Path, page: str) -> list[str]:
    rows = keys(root)
    if len(rows) < 20:
        return [f"only {len(rows)} keys were found in config_keys.c; the pattern no longer matches"]
    return [f"hugeplan.d(5): {name}= of [{section.title()}] is not documented"
            for section, name, _ in rows if not re.search(rf"\b{name}=", page)]


def missing_words(page_name: str, page: str, what: str, words: list[str]) -> list[str]:
    if not words:
        return [f"no {what} were found in the sources; the pattern no longer matches"]
    return [f"{page_name}: the {what[:-1]} '{word}' is not documented" for word in words
            if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", page)]


def missing_verbs(page: str, words: list[str]) -> list[str]:
    """The verbs that begin no line of the page."""
    if len(words) < 10:
        return [f"only {len(words)} verbs were found in verbs.c; the pattern no longer matches"]
    return [f"hugeplanctl(1): the verb '{word}' has no entry" for word in words
            if not re.search(rf"^{re.escape(word)}(?= |,|$)", page, re.MULTILINE)]


def rules(root: pathlib.Path) -> dict[str, str]:
    """The identifiers, with their severity as in the page: "warning, hurts"."""
    text = (root / "src/model/rule.h").read_text(encoding="utf-8")
    return {name: severity.lower() + (", hurts" if hurts == "true" else "")
            for name, severity, hurts in RULE_ROW.findall(text)}


def wrong_rules(root: pathlib.Path, page: str) -> list[str]:
    rows, there = rules(root), dict(RULE_ENTRY.findall(page))
    families = "".join(path.read_text(encoding="utf-8")
                       for path in sorted([*(root / "src/check").glob("rules_*.c"),
                                           *(root / "src/engines").glob("*/*_rules.c")]))
    problems = [f"hugeplan-rules(7): {name} has no entry '{name} ({what})'"
                for name, what in rows.items() if there.get(name) != what]
    problems += [f"hugeplan-rules(7): there is no rule {name}" for name in there.keys() - rows]
    problems += [f"{name}: {families.count(f'{{{name},')} rows in the families of rules, not one"
                 for name in (f"RULE_{rule.upper().replace('-', '_')}" for rule in rows)
                 if families.count(f"{{{name},") != 1]
    return problems if len(rows) > 30 else ["the pattern RULE_ROW no longer matches"]


def fields(root: pathlib.Path) -> list[str]:
    """The fields of all schemas."""
    found: set[str] = set()

    def walk(value: object) -> None:
        if isinstance(value, dict):
            found.update(value.get("properties", {}))
        for item in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else []):
            walk(item)

    for path in (root / "schema").glob("*.json"):
        walk(json.loads(path.read_text(encoding="utf-8")))
    return sorted(found)


def main() -> list[str]:
    root = pathlib.Path(sys.argv[1])
    settings, tool, daemon, rules_page = (
        plain((root / "man" / name).read_text(encoding="utf-8"))
        for name in ("hugeplan.d.5.scd", "hugeplanctl.1.scd", "hugepland.8.scd", "hugeplan-rules.7.scd"))
    tool_options = options(root / "src/ctl/hugeplanctl.c")
    problems = [*missing_keys(root, settings), *missing_words("hugeplan.d(5)", settings, "engines", engines(root)),
                *missing_verbs(tool, verbs(root, VERB_ROW)),
                *missing_words("hugeplanctl(1)", tool, "options", tool_options),
                *missing_words("hugeplanctl(1), JSON", tool.partition("# JSON\n")[2].partition("\n# ")[0], "fields",
                               fields(root)),
                *wrong_rules(root, rules_page),
                *missing_words("hugepland(8)", daemon, "options", options(root / "src/daemon/hugepland.c"))]
    for path in sorted((root / "contrib/completion").glob("*hugeplanctl*")):
        text, name = path.read_text(encoding="utf-8"), f"contrib/completion/{path.name}"
        if path.suffix == ".fish":
            text = re.sub(r" -l ([a-z-]+)", r" --\1", text)
        problems += missing_words(name, text, "verbs", verbs(root, SHOWN_VERB_ROW))
        problems += missing_words(name, text, "options", tool_options)
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
