"""`python -m performance.dataflow_cost`: how long a corpus takes on Dataflow, and what it costs, as an estimate.

    python -m performance.dataflow_cost --kilobytes_per_second 104 --machines 16

It multiplies: text by the speed of one virtual core (measure yours with `performance.repair_throughput`), cores by list
prices. What a job costs beside its workers (storage, requests, shuffle of file names) is small and left out, and so is
the time in which machines start.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

GIGABYTE = 10**9
# Kilobytes of text per second of one core, `repair_corpus` with `default`, of the processor time that it took.
MEASURED = 104.0
SIZES = {"1 GB": GIGABYTE, "100 GB": 100 * GIGABYTE, "10 TB": 10_000 * GIGABYTE}


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Dollars per hour of batch workers; list prices of us-central1, to be checked before they are relied on."""

    core: float = 0.056
    memory_gigabyte: float = 0.003557
    disk_gigabyte: float = 0.000054


@dataclass(frozen=True, kw_only=True)
class Machine:
    """n2-standard-8 with the disk of the preset."""

    cores: int = 8
    memory_gigabytes: int = 32
    disk_gigabytes: int = 50

    def dollars_per_hour(self, prices: Prices) -> float:
        return (
            self.cores * prices.core
            + self.memory_gigabytes * prices.memory_gigabyte
            + self.disk_gigabytes * prices.disk_gigabyte
        )


def estimate(text_bytes: int, kilobytes_per_second: float, machines: int) -> tuple[float, float]:
    """Hours, and dollars.

    >>> hours, dollars = estimate(GIGABYTE, kilobytes_per_second=20, machines=1)
    >>> f"{hours:.1f} h, {dollars:.2f} dollars"
    '1.7 h, 0.98 dollars'
    """
    machine = Machine()
    machine_hours = text_bytes / (1000 * kilobytes_per_second * machine.cores) / 3600
    return machine_hours / machines, machine_hours * machine.dollars_per_hour(Prices())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m performance.dataflow_cost", description="Estimates, not offers.")
    about = f"of text, on one virtual core (default: {MEASURED:g}, as measured)"
    parser.add_argument("--kilobytes_per_second", type=float, default=MEASURED, metavar="N", help=about)
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 16, 128], help="of eight cores each")
    options = parser.parse_args(argv)
    print("| text | " + " | ".join(f"{number} machines" for number in options.machines) + " | workers cost |")
    print("| --- |" + " --- |" * (len(options.machines) + 1))
    for name, size in SIZES.items():
        rows = [estimate(size, options.kilobytes_per_second, number) for number in options.machines]
        times = " | ".join(f"{hours:,.1f} h" for hours, _ in rows)
        print(f"| {name} | {times} | {rows[0][1]:,.2f} $ |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
