# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program in the foreground of a terminal of its own: Ctrl-C sends SIGINT to every process in the foreground, and
closing the terminal sends SIGHUP."""

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
    """The program has not written the expected text, or has not ended, in time."""


class Foreground:
    def __init__(self, arguments: list[str | pathlib.Path], environment: dict[str, str] | None = None) -> None:
        self.master, terminal = os.openpty()
        attributes = termios.tcgetattr(terminal)
        attributes[1] &= ~termios.ONLCR
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)

        def take_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.began = time.monotonic()
        self.process = subprocess.Popen([str(word) for word in arguments], stdin=terminal,
                                        stdout=terminal, stderr=terminal, start_new_session=True,
                                        preexec_fn=take_terminal, env=os.environ | (environment or {}))
        os.close(terminal)
        self.output = ""
        self.is_hung_up = False
        atexit.register(self.process.kill)

    def read(self, seconds: float) -> None:
        """Reads the program's output for SECONDS, or until the program ends."""
        end = time.monotonic() + seconds
        while not self.is_hung_up and (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], min(left, 0.05))[0]:
                if self.process.poll() is not None:
                    return
                continue
            try:
                self.output += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # no process has the terminal open
                return
        if self.is_hung_up:
            time.sleep(max(end - time.monotonic(), 0))

    def read_until(self, text: str, seconds: float) -> float:
        """Waits for TEXT in the output; returns the time at which it was read."""
        end = time.monotonic() + seconds
        while text not in self.output:
            if time.monotonic() > end or self.process.poll() is not None:
                raise TerminalError(f"no {text!r} within {seconds:g} s:\n{self.output}")
            self.read(0.02)
        return time.monotonic()

    def finish(self, seconds: float = 90) -> int:
        """Waits for the program's end; returns the exit status, or the signal as a negative number."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise TerminalError(f"the program does not end:\n{self.output}")
            self.read(0.2)
        self.read(0.2)
        self.hang_up()
        return self.process.returncode

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stops the program meanwhile: signals that are sent take effect when it continues."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    # ---- ways to end the program ----

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
