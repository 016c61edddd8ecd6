# SPDX-License-Identifier: LGPL-2.1-or-later
"""A state.json as an earlier hugeplan would have written it, made of one that is written now: version 1 had neither
holds nor refusals, and 2 counted pages by node in lists and left nothing out. For the guests, and for run_gates.py,
which holds it against what the builds of these versions wrote (tests/states)."""

from __future__ import annotations

from typing import Any

Members = dict[str, Any]


def of_version(state: Members, version: int) -> Members:
    written = {**state, "version": version, "instances": [_granted(one, version) for one in state["instances"]]}
    written.pop("left", None)
    if version < 3:
        known = {one["name"]: one for one in state["instances"]}
        written["holds"] = [_hold(one, known) for one in state["holds"]]
    if version == 1:
        del written["holds"], written["refusals"]
        written["pools"] = [_renamed(one) for one in state["pools"]]
    return written


def _granted(one: Members, version: int) -> Members:
    known = {key: value for key, value in one.items() if key not in ("likely", "ready")}
    if version == 3:
        return known
    nodes = [{"node": int(node), "pages": pages} for node, pages in one["nodes"].items()]
    said = {"released": False, "held" if version == 1 else "stood": False}
    written = {"placement": "spread", **said, **known, "nodes": nodes}
    if version == 1:
        written.pop("stood", None)
    return written


def _hold(one: Members, known: dict[str, Members]) -> Members:
    granted = one["granted"]
    instance = known[granted] if isinstance(granted, str) else granted
    said = {"policy": "any", "policyNodes": "", "counted": False}
    return {**said, **one, "granted": _granted(instance, 2)}


def _renamed(pool: Members) -> Members:
    return {**{key: value for key, value in pool.items() if key != "others"}, "foreign": 0}
