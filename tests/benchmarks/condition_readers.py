"""What each reader of code says of labelled fixes, read from the two states of the commit: no history is mined."""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.condition_scores import MEANINGS, SETS, Label, compared, labels

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.learning.preconditions import tails, widths
from kernel_lineage.learning.preconditions.changes import CodeChange

SUMMARY = "learned conditions by reader, from labelled commits alone (needs checkouts)"
_READERS = {"masks": tails.read, "wide offsets": widths.read}
_LANGUAGES = {".cu": Language.CUDA, ".cuh": Language.CUDA, ".py": Language.TRITON}
_TABLE = Path(__file__).parent / "results" / "condition_readers.md"


def main(arguments: list[str]) -> None:
    """Reads the labelled commits of checkouts that are named as their repositories, and writes the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks condition_readers")
    parser.add_argument("checkouts", type=Path, help="a folder of checkouts: llm.c, gsplat, …")
    checkouts = parser.parse_args(arguments).checkouts
    header = [
        "set",
        "reader",
        "rows that can be said",
        *(f"{m} meaning" for m in MEANINGS[:1]),
        *MEANINGS[1:],
    ]
    lines = ["What readers of code say of labelled fixes, without history (`condition_readers`).", ""]
    lines += [f"| {' | '.join([*header, 'cannot be said: something learned'])} |", "|---" * 9 + "|"]
    for name in SETS:
        rows = list(labels(name))
        learned = [_learned(checkouts / row.repository, row) for row in rows]
        for reader in (*_READERS, "all"):
            counts: Counter[str] = Counter()
            for row, by_reader in zip(rows, learned, strict=True):
                texts = [t for r, each in by_reader.items() if reader in (r, "all") for t in each]
                if row.alternatives:
                    counts[compared(row.alternatives, texts)] += 1
                else:
                    counts["unsaid"] += bool(texts)
            cells = [name, reader, str(sum(counts[m] for m in MEANINGS)), *(str(counts[m]) for m in MEANINGS)]
            lines.append(f"| {' | '.join([*cells, str(counts['unsaid'])])} |")
    _TABLE.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))  # noqa: T201


def _learned(checkout: Path, label: Label) -> dict[str, list[str]]:
    """The conditions that each reader reads from the states of a labelled kernel before and after the commit."""
    learned: dict[str, list[str]] = {}
    for change in _changes(checkout, label):
        for name, reads in _READERS.items():
            learned.setdefault(name, []).extend(needed.expr for needed in reads(change))
    return learned


def _changes(checkout: Path, label: Label) -> Iterator[CodeChange]:
    listing = _git(checkout, "diff-tree", "-r", "-M", "--no-commit-id", "--name-status", label.commit)
    for status, *paths in (line.split("\t") for line in listing.decode().splitlines()):
        language = _LANGUAGES.get(Path(paths[-1]).suffix)
        if status[0] in "MR" and language is not None:
            old = _kernels(_git(checkout, "show", f"{label.commit}^:{paths[0]}"), language)
            new = _kernels(_git(checkout, "show", f"{label.commit}:{paths[-1]}"), language)
            for name in sorted(old.keys() & new.keys()):
                if label.kernel in ("*", name):
                    yield CodeChange(old[name], new[name])


def _kernels(data: bytes, language: Language) -> dict[str, Kernel]:
    return {kernel.name: kernel for kernel in read(data, language).kernels}


def _git(checkout: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(checkout), *arguments], check=True, capture_output=True).stdout
