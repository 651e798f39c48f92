"""Print the kept ratios as the table of docs/performance.md: ``python tests/benchmarks/table.py FILE.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def shown(number):
    """Three digits, without an exponent."""
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def line(row):
    reached = row["ratio"] >= row["goal"] if row["at_least"] else row["ratio"] <= row["goal"]
    sign = "≥" if row["at_least"] else "≤"
    goal = f"{sign} {shown(row['goal'])}" + ("" if reached else ", **missed**")
    note = f" ({row['note']})" if row["note"] else ""
    numbers = f"{shown(row['value'])} {row['unit']} | {shown(row['reference'])} {row['unit']} | {shown(row['ratio'])}"
    name = row["name"].replace("|", "\\|")
    return f"| {name}{note} | {numbers} | {goal} |"


def main(path):
    rows = json.loads(Path(path).read_text(encoding="utf-8"))["ratios"]
    print("| What; against | Ours | Reference | Ratio | Goal |")
    print("|---|---|---|---|---|")
    print("\n".join(map(line, rows)))


if __name__ == "__main__":
    main(sys.argv[1])
