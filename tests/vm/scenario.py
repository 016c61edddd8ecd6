# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scenario: a machine, the files laid into it, and what is checked at each boot.

A scenario's file is imported on the host, for these values, and again in the guest, where only its check functions
are called. So neither this module nor a scenario does anything when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# The text of a file, or its mode and its text. With the mode 0o120000 the text is the target of a symbolic link.
Content = str | tuple[int, str]

SYMLINK = 0o120000

# A target in which the checks run, and which does not reach multi-user.target.
EARLY_TARGET = """\
[Unit]
Requires=basic.target
Wants=hugeplan-vm-test.service
AllowIsolate=yes
"""


@dataclass(frozen=True)
class Node:
    """One NUMA node of the guest."""

    memory: str | None  # as qemu takes it ("1536M", "1G"); None: a node without memory
    cpus: int = 1  # 0: a node without CPUs


@dataclass(frozen=True)
class Boot:
    """One boot, from power-on to power-off; the disk is kept from one boot to the next."""

    check: Callable[[], None]  # runs in the guest after multi-user.target
    kernel: str = ""  # one of image.KERNEL_PACKAGES; default: the first one of the suite
    kernel_args: str = ""
    files: Mapping[str, Content] = field(default_factory=dict)
    enable: tuple[str, ...] = ()  # units enabled before this boot, as `systemctl enable` would
    limit_sec: int = 300  # wall time of the whole boot
    # The power fails: the guest prints `last_words` on its console and resets itself before the checks run. What it had
    # not written to its disk is lost.
    last_words: str = ""
    # What the checks may request of the machine by guestlib.ask_host(NAME). Each function gets the running guest.Guest,
    # whose `qmp` plugs memory; its result is sent back as JSON.
    on_request: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    boots: tuple[Boot, ...]
    nodes: tuple[Node, ...]
    suites: tuple[str, ...] = ("bookworm",)
    more_suites: tuple[str, ...] = ()  # run there by `run.py --all`, or by name
    files: Mapping[str, Content] = field(default_factory=dict)  # path in the guest -> content
    files_on: Mapping[str, Mapping[str, Content]] = field(default_factory=dict)  # more files, by suite
    enable: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()  # besides those of each guest: see payload.py
    has_kernel: bool = False  # the guest has its kernel as /vm/kernel
    hotplug: str = ""  # room for memory added later, as qemu's -m takes it: "slots=4,maxmem=32G"
    # Each instruction takes guest.COUNTED_NSEC of the guest's time, however busy this host is, so processor times in the
    # guest are counts of instructions. For measurements. The guest's waits for a disk take time of the host.
    is_counted: bool = False
    # The guest has hugeplan as packages that are not installed: /vm/packages/{older,newer}.{deb,rpm}.
    is_packaged: bool = False
