# SPDX-License-Identifier: LGPL-2.1-or-later
"""Java: the huge pages that a virtual machine maps until it has started. The meter gives it small pages, few of which
are touched."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from meter import Meter, Settings

MB, GB = 1 << 20, 1 << 30

COLLECTORS = {
    "g1": "UseG1GC",
    "parallel": "UseParallelGC",
    "serial": "UseSerialGC",
    "zgc": "UseZGC",
    "shenandoah": "UseShenandoahGC",
    "cms": "UseConcMarkSweepGC",
}
SWITCHES = ("UseCompressedOops", "SegmentedCodeCache", "TieredCompilation", "ZGenerational")
GRID = ("20m", "64m", "100m", "512m", "513m", "640m", "1g", "1280m", "2047m", "2g", "2049m", "4g", "5000m", "8g", "12345m",
        "16g", "24g", "29g", "30g", "30722m", "31g", "31745m", "32704m", "32766m", "32g", "33g", "64g", "100g", "256g")


class Jvm:
    """A virtual machine that starts and ends (-version)."""

    def __init__(self, directory: Path, version: str, work: Path, meter: Meter) -> None:
        self._meter = meter
        self.major = int(version.replace("u", ".").split(".")[0])
        java = next(directory.glob("**/bin/java")).resolve()
        self._command = [java]
        # If the C library came with it: java finds its own files by the path of the loader.
        for loader in directory.glob("usr/lib/*/ld-linux-*.so.*"):
            shutil.copy(loader, java.parent / "loader")
            self._command = [java.parent / "loader", "--library-path", loader.parent, java]

    def bytes_of(self, settings: Settings) -> int | None:
        """The most bytes of huge pages at a time; None if Java refuses the settings."""
        options = ["-XX:-UsePerfData", "-XX:+UnlockExperimentalVMOptions", "-XX:+UseLargePages"]
        # Only ZGC maps the heap's pages as the heap grows.
        given = {"Xms": settings["Xmx"] if settings["gc"] == "zgc" else "16m", **settings}
        return self._meter.held([*self._command, *options, *map(self._option, given, given.values()), "-version"])

    @staticmethod
    def _option(name: str, value: str) -> str:
        if name in ("Xmx", "Xms", "Xmn"):
            return f"-{name}{value}"
        if name == "Xint":
            return "-Xint" if value == "true" else "-Xmixed"
        if name == "gc":
            return f"-XX:+{COLLECTORS[value]}"
        if name in SWITCHES:
            return f"-XX:{'+' if value == 'true' else '-'}{name}"
        return f"-XX:{name}={value}"

    def _collectors(self) -> list[str]:
        return [name for name in COLLECTORS if (name not in ("zgc", "shenandoah") or self.major >= 11)
                and (name != "cms" or self.major <= 13)]

    def grid(self) -> list[Settings]:
        """Every collector with heap sizes at which Java's layout changes, and with odd sizes of the code cache."""
        heaps = [{"Xmx": heap, "gc": gc} for heap in GRID for gc in self._collectors()]
        return heaps + [{"Xmx": "256m", "gc": gc, "ReservedCodeCacheSize": cache}
                        for cache in ("17m", "63m", "125m", "239m", "241m") for gc in self._collectors()]

    def drawn(self, chance: random.Random) -> Settings:
        """Random settings."""
        step = chance.choice([1, 1, 2, 64, 128, 1024])
        heap = max(24, int(2 ** chance.uniform(5, 17)) // step * step)
        if chance.random() < 0.2:
            heap = chance.randrange(29 << 10, 33 << 10)
        settings = {"Xmx": f"{heap}m", "gc": chance.choice(self._collectors())}
        for likelihood, since, name, values in self._others(heap):
            if self.major >= since and chance.random() < likelihood:
                settings[name] = str(chance.choice(values))
        if settings["gc"] == "zgc":
            settings.pop("Xms", None)
        return settings

    @staticmethod
    def _others(heap: int) -> list[tuple[float, int, str, list[object]]]:
        """Further settings: likelihood, first version, name and values."""
        regions = [f"{1 << power}m" for power in range(10) if 1 << power <= heap // 16]
        caches = ["16m", "17m", "40m", "48m", "63m", "64m", "100m", "239m", "240m", "241m", "300m", "512m", "1g", "2g"]
        return [
            (0.2, 8, "Xms", [f"{max(heap // 2, 16)}m", f"{heap}m", "16m"]),
            (0.1, 8, "Xmn", [f"{heap // 4}m", f"{heap // 2}m"]),
            (0.3, 8, "G1HeapRegionSize", regions or ["1m"]),
            (0.2, 11, "ShenandoahRegionSize", ["256k", "1m", "2m", "4m"]),
            (0.1, 18, "GCCardSizeInBytes", [128, 256, 512, 1024]),
            (0.1, 8, "MarkStackSize", ["1m", "4m", "7m", "16m"]),
            (0.1, 8, "ObjectAlignmentInBytes", [8, 16, 32]),
            (0.1, 8, "UseCompressedOops", ["true", "false"]),
            (0.1, 8, "HeapBaseMinAddress", ["1g", "4g", "40g"]),
            (0.3, 8, "ReservedCodeCacheSize", caches),
            (0.1, 11, "SegmentedCodeCache", ["true", "false"]),
            (0.1, 8, "TieredCompilation", ["true", "false"]),
            (0.1, 8, "TieredStopAtLevel", [0, 1, 2, 3, 4]),
            (0.1, 17, "CompilationMode", ["default", "quick-only", "high-only", "high-only-quick-internal"]),
            (0.1, 8, "Xint", ["true", "false"]),
        ]
