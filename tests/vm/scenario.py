# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a scenario says: a machine, the files laid into it, and what is checked at each boot.

A scenario's file is read on the host, for these values, and again inside the guest, where only its
check functions are called. So neither this module nor a scenario does anything when imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# The text of a file, or its mode and its text; a mode of 0o120000 makes `text` a link's target.
Content = str | tuple[int, str]

SYMLINK = 0o120000


@dataclass(frozen=True)
class Node:
    """One NUMA node of the guest."""

    memory: str | None  # as qemu takes it ("1536M", "1G"); None: a node without memory
    cpus: int = 1  # 0: a node without CPUs


@dataclass(frozen=True)
class Boot:
    """One boot, from power-on to power-off; the disk is kept from one boot to the next."""

    check: Callable[[], None]  # runs inside the guest once multi-user.target has been reached
    kernel: str = ""  # one of image.KERNEL_PACKAGES; default: the first one of the architecture
    kernel_args: str = ""
    files: Mapping[str, Content] = field(default_factory=dict)
    enable: tuple[str, ...] = ()  # units enabled before this boot, as `systemctl enable` would
    limit_sec: int = 300  # of wall time, all in all
    # The power fails: the guest resets itself before the checks run, having said `last_words` on its
    # console. What it had not brought to its disk is lost.
    last_words: str = ""
    # What the checks may ask of the machine itself with guestlib.ask_host(NAME): each gets the
    # running guest.Guest (its `qmp` plugs memory), and what it returns goes back, as JSON.
    on_request: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    boots: tuple[Boot, ...]
    nodes: tuple[Node, ...]
    suites: tuple[str, ...] = ("bookworm",)
    more_suites: tuple[str, ...] = ()  # where it is run by `run.py --all`, or by its name
    files: Mapping[str, Content] = field(default_factory=dict)  # path in the guest -> content
    files_on: Mapping[str, Mapping[str, Content]] = field(default_factory=dict)  # more, by suite
    enable: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()  # beside those that every guest has: see payload.py
    hotplug: str = ""  # room for memory added later, as qemu's -m takes it: "slots=4,maxmem=32G"
    qemu_args: tuple[str, ...] = ()
    # Each instruction takes guest.COUNTED_NSEC of the guest's time, however busy this host is: what it says to have
    # used is what it has executed. For measurements; a guest that waits for a disk does so in our time.
    is_counted: bool = False
    # hugeplan comes as the packages /vm/packages/{older,newer}.{deb,rpm}, which nobody has installed.
    is_packaged: bool = False
