#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""contrib/monitoring agrees with `hugeplanctl metrics`: every metric and label that a rule or a panel names exists.
promtool then checks the metrics of some cases, the rules with their alerts, and the queries of the panels. Without
promtool (Debian: in the package prometheus; scripts/run-tests unpacks it) the test is skipped (77) after the first
part.

usage: run_monitoring.py --hugeplanctl=PROGRAM
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import common

MONITORING = common.HERE.parent / "contrib/monitoring"
TOOL = shutil.which("promtool") or shutil.which("promtool", path=str(common.HERE.parent / "build-logs/prometheus/usr/bin"))
# Metrics and labels of Prometheus and node_exporter.
OTHERS = {"node_textfile_mtime_seconds", "instance", "file"}
CASES = ("busy", "verify", "running", "no-directory")
# The name of a metric, and the selectors in its braces.
USE = re.compile(r"\b(hugeplan_\w+)(?:\{([^}]*)\})?")


def metrics_of(program: pathlib.Path, case: str) -> str:
    with common.root_of(case) as root:
        done = common.run(program, "metrics", root=root)
        assert done.returncode == 0, done.stderr
        return done.stdout


def queries_in(panel: object) -> Iterator[str]:
    """All queries of a dashboard."""
    if isinstance(panel, dict):
        if "expr" in panel:
            yield panel["expr"]
        for item in panel.values():
            yield from queries_in(item)
    elif isinstance(panel, list):
        for item in panel:
            yield from queries_in(item)


def labels_of(text: str) -> dict[str, dict[str, set[str]]]:
    """The values by metric and label."""
    found: dict[str, dict[str, set[str]]] = {name: {} for name in re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE)}
    for name, labels in re.findall(r"^(hugeplan_\w+)\{(.*)\} \d+$", text, re.MULTILINE):
        for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels):
            found[name].setdefault(label, set()).add(value)
    return found


def wrong_uses(what: str, query: str, there: dict[str, dict[str, set[str]]]) -> list[str]:
    problems = []
    for name, selectors in USE.findall(query):
        if name not in there:
            problems.append(f"{what}: there is no metric {name}")
            continue
        for label, operator, value in re.findall(r'(\w+)(=~|=)"([^"]*)"', selectors):
            values = there[name].get(label, set())
            if label not in OTHERS and not values.issuperset(value.split("|") if operator == "=~" else [value]):
                problems.append(f"{what}: no {name} has {label}{operator}{value}")
    return problems


def tool_problems(*arguments: str, given: str = "") -> list[str]:
    done = subprocess.run([str(TOOL), *arguments], check=False, capture_output=True, text=True, input=given,
                          cwd=MONITORING, timeout=120)
    return [] if done.returncode == 0 else [f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}"]


def check_with_tool(texts: list[str], queries: list[str]) -> list[str]:
    problems = tool_problems("check", "rules", "hugeplan.rules.yml")
    problems += tool_problems("test", "rules", "alerts.test.yml")
    for text in texts:
        problems += tool_problems("check", "metrics", given=text)
    rules = [{"record": f"panel:{i}", "expr": query.replace("$instance", ".*")} for i, query in enumerate(queries)]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)  # JSON is YAML
        file.flush()
        return problems + tool_problems("check", "rules", "--lint=none", file.name)


def main() -> int:
    program = common.parser(__doc__, "hugeplanctl").parse_args().hugeplanctl
    texts = [metrics_of(program, case) for case in CASES]
    there = labels_of("".join(texts))
    queries = list(queries_in(json.loads((MONITORING / "hugeplan-dashboard.json").read_text(encoding="utf-8"))))
    rules = (MONITORING / "hugeplan.rules.yml").read_text(encoding="utf-8")
    alerts = set(re.findall(r"alert: (\w+)", rules))
    tested = (MONITORING / "alerts.test.yml").read_text(encoding="utf-8")
    assert len(queries) > 10 and len(alerts) > 5 and wrong_uses("self-test", 'hugeplan_problems{severity="x"}', there)
    problems = wrong_uses("hugeplan.rules.yml", rules, there)
    for query in queries:
        problems += wrong_uses("hugeplan-dashboard.json", query, there)
    problems += [f"no panel shows {name}" for name in there
                 if not any(name in query for query in queries) and not name.endswith(("_surplus_bytes", "_owned_bytes",
                                                                                        "_foreign_bytes"))]
    problems += [f"alerts.test.yml has no test in which {alert} fires" for alert in alerts
                 if not re.search(rf"alertname: {alert}\n *exp_alerts:\n", tested)]
    if TOOL:
        problems += check_with_tool(texts, queries)
    print("\n".join(problems) or f"{len(there)} metrics, {len(alerts)} alerts, {len(queries)} queries")
    if problems:
        return 1
    if not TOOL:
        print("promtool is not installed")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
