# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program in the foreground of a terminal of its own, as a person's is: Ctrl-C there reaches every
process in the foreground, and when the terminal goes, they hear of it."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import pathlib
import random
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator

CTRL_C = b"\x03"


class TerminalError(AssertionError):
    """It does not do in time what it should."""


class Foreground:
    def __init__(self, arguments: list[str | pathlib.Path],
                 environment: dict[str, str] | None = None) -> None:
        self.master, terminal = os.openpty()
        attributes = termios.tcgetattr(terminal)
        attributes[1] &= ~termios.ONLCR
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)

        def take_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.began = time.monotonic()
        self.process = subprocess.Popen([str(word) for word in arguments], stdin=terminal,
                                        stdout=terminal, stderr=terminal, start_new_session=True,
                                        preexec_fn=take_terminal,
                                        env=os.environ | (environment or {}))
        os.close(terminal)
        self.output = ""
        self.is_hung_up = False
        atexit.register(self.process.kill)

    def read(self, seconds: float) -> None:
        """Takes what is written in that time; no longer than it lives."""
        end = time.monotonic() + seconds
        while not self.is_hung_up and (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], min(left, 0.05))[0]:
                if self.process.poll() is not None:
                    return
                continue
            try:
                self.output += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # nobody has the terminal open any more
                return
        if self.is_hung_up:
            time.sleep(max(end - time.monotonic(), 0))

    def read_until(self, text: str, seconds: float) -> float:
        """When it has written that."""
        end = time.monotonic() + seconds
        while text not in self.output:
            if time.monotonic() > end or self.process.poll() is not None:
                raise TerminalError(f"no {text!r} within {seconds:g} s:\n{self.output}")
            self.read(0.02)
        return time.monotonic()

    def finish(self, seconds: float = 90) -> int:
        """Waits for its end; the exit status, or the signal as a negative number."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise TerminalError(f"it does not end:\n{self.output}")
            self.read(0.2)
        self.read(0.2)
        self.hang_up()
        return self.process.returncode

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """It goes on, and hears what it was sent, when all is done that is to be done at this moment."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    # ---- ways to end it ----

    def press_ctrl_c(self) -> None:
        os.write(self.master, CTRL_C)

    def press_ctrl_c_often(self, draw: random.Random) -> None:
        self.press_ctrl_c()
        for _ in range(3):
            self.read(draw.uniform(0, 0.7))
            with contextlib.suppress(OSError):
                self.press_ctrl_c()

    def terminate(self) -> None:
        self.process.terminate()

    def hang_up(self) -> None:
        if not self.is_hung_up:
            os.close(self.master)
        self.is_hung_up = True

    def kill(self) -> None:
        self.process.kill()
