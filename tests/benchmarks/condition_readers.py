"""What widened offsets say of labelled fixes, read from the two states of the commit: no history is mined."""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.condition_scores import MEANINGS, SETS, Label, compared, labels

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.learning.wide_offsets import widened

SUMMARY = "conditions learned from wide offsets, from labelled commits alone (needs checkouts)"
_LANGUAGES = {".cu": Language.CUDA, ".cuh": Language.CUDA, ".py": Language.TRITON}
_TABLE = Path(__file__).parent / "results" / "condition_readers.md"
_HEADER = ("set", "rows that can be said", "same meaning", *MEANINGS[1:], "cannot be said: something learned")


def main(arguments: list[str]) -> None:
    """Reads the labelled commits of checkouts that are named as their repositories, and writes the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks condition_readers")
    parser.add_argument("checkouts", type=Path, help="a folder of checkouts: llm.c, gsplat, …")
    checkouts = parser.parse_args(arguments).checkouts
    lines = ["What widened offsets say of labelled fixes, without history (`condition_readers`).", ""]
    lines += [f"| {' | '.join(_HEADER)} |", "|---" * len(_HEADER) + "|"]
    for name in SETS:
        counts: Counter[str] = Counter()
        for row in labels(name):
            texts = [
                text for old, new in _changes(checkouts / row.repository, row) for text in widened(old, new)
            ]
            if row.alternatives:
                counts[compared(row.alternatives, texts)] += 1
            else:
                counts["unsaid"] += bool(texts)
        cells = [
            name,
            str(sum(counts[m] for m in MEANINGS)),
            *(str(counts[m]) for m in (*MEANINGS, "unsaid")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    _TABLE.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))  # noqa: T201


def _changes(checkout: Path, label: Label) -> Iterator[tuple[Kernel, Kernel]]:
    """The states of a labelled kernel before and after the commit."""
    listing = _git(checkout, "diff-tree", "-r", "-M", "--no-commit-id", "--name-status", label.commit)
    for status, *paths in (line.split("\t") for line in listing.decode().splitlines()):
        language = _LANGUAGES.get(Path(paths[-1]).suffix)
        if status[0] in "MR" and language is not None:
            old = _kernels(_git(checkout, "show", f"{label.commit}^:{paths[0]}"), language)
            new = _kernels(_git(checkout, "show", f"{label.commit}:{paths[-1]}"), language)
            for name in sorted(old.keys() & new.keys()):
                if label.kernel in ("*", name):
                    yield old[name], new[name]


def _kernels(data: bytes, language: Language) -> dict[str, Kernel]:
    return {kernel.name: kernel for kernel in read(data, language).kernels}


def _git(checkout: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(checkout), *arguments], check=True, capture_output=True).stdout
