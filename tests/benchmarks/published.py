"""Published solutions with labels, as a folder for `klineage audit`.

`python -m tests.benchmarks.published CHECKOUT FOLDER`, with a checkout of github.com/Infatoshi/kernelbench.com; runs of
its folder `h100` are left out. FOLDER gets a folder for each problem with its reference, and claims.csv with labels:
`klineage audit FOLDER --claims FOLDER/claims.csv --seconds 10 --html audit.html`.
"""

from __future__ import annotations

import csv
import re
import shutil
import sys
from pathlib import Path

_SOLUTION, _REFERENCE = "_solution.py.txt", "_reference.py.txt"


def gather(checkout: Path, folder: Path) -> int:
    """Copy what has a label and a reference; how many that are."""
    labels: dict[str, str] = {}
    for file in checkout.glob("benchmarks/*/results/annotations/*.yaml"):
        label = re.search(r"^verdict:\s*(\w+)", file.read_text("utf-8"), re.MULTILINE)
        if label is not None:
            labels[file.stem] = label[1]
    references = {
        r.name.removesuffix(_REFERENCE): r
        for r in checkout.glob(f"public/data/hard/references/*{_REFERENCE}")
    }
    rows = []
    for file in sorted((checkout / "public" / "runs").glob(f"**/*{_SOLUTION}")):
        run = file.name.removesuffix(_SOLUTION)
        problem = next((p for p in references if run.endswith(p)), None)
        if "h100" in file.parts or run not in labels or problem is None:
            continue
        target = folder / problem
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(references[problem], target / "reference.py")
        shutil.copy(file, target / file.name)
        rows.append((f"{problem}/{file.name}", labels[run]))
    with (folder / "claims.csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("file", "claim"), *rows])
    return len(rows)


if __name__ == "__main__":
    print(gather(Path(sys.argv[1]), Path(sys.argv[2])), "solutions")  # noqa: T201 - a script
