"""A day of editing in minutes: `python -m attacks.endurance --edits 24000` (in tests/, or by `make attack`).

A day is 1,000 edits an hour for 24 hours: a person who types without a rest, seen by the server after each pause, as an
editor sends changes. After every edit the server is asked for a hover, after every tenth for code actions; after every
fiftieth the document is closed and opened, after every 500th it is saved and its lineage asked for. Nothing waits
between two edits, so what grows with the number of edits shows; what grows with time alone does not. Memory, open files
and latency are taken at the end of each "hour".
"""

# It prints a table, and its random numbers are drawn with a seed for repetition.
# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attacks.hostile_words import KERNEL
from attacks.interrupted_jobs import FILL
from attacks.wire import Editor
from history.repositories import NAIVE, Step, make_repository
from rewrite.conftest import SCALE

EDITS_AN_HOUR = 1000
_TYPED = (
    "a",
    " ",
    "\n",
    "// x\n",
    "i",
    ";",
    "{",
    "}",
    "(",
    "float ",
    "[i]",
    "*/",
    "/*",
    "__syncthreads();\n",
    "é",
    "😀",
)


@dataclass(frozen=True)
class Sample:
    """The server at one moment."""

    edits: int
    resident_mb: float
    handles: int
    threads: int
    median_ms: float
    worst_ms: float


class Session:
    """One person, with a few documents, on one server."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.texts = {"naive.cu": NAIVE, "scale.cu": SCALE, "fill.cu": FILL, "hostile.cu": KERNEL}
        make_repository(folder, [Step("one", dict(self.texts)), Step("two", {"naive.cu": NAIVE + "\n"})])
        environment = {**os.environ, "KLINEAGE_KEEP_IN": str(folder.with_name("kept"))}
        self.editor = Editor(folder, environment)
        self.editor.start(trusted=True, device="emulated")
        self.paths = {name: folder / name for name in self.texts}
        self.versions = dict.fromkeys(self.texts, 1)
        for name, path in self.paths.items():
            self.editor.open(path, self.texts[name])
        self.latencies: list[float] = []

    def edit(self, number: int) -> None:
        """One edit, and what an editor asks for after it."""
        name = self.chance.choice(list(self.texts))
        text = self.texts[name]
        start = self.chance.randrange(len(text) + 1)
        end = min(len(text), start + self.chance.choice((0, 0, 0, 1, 1, 5)))
        typed = self.chance.choice(_TYPED)
        if len(text) > 6000 or self.chance.random() < 0.02:  # what was typed is taken back
            start, end, typed = (
                0,
                len(text),
                {"naive.cu": NAIVE, "scale.cu": SCALE, "fill.cu": FILL}.get(name, KERNEL),
            )
        span = {"start": _position(text[:start]), "end": _position(text[:end])}
        self.texts[name] = text[:start] + typed + text[end:]
        self.versions[name] += 1
        uri = self.paths[name].as_uri()
        identifier = {"uri": uri, "version": self.versions[name]}
        change = {"textDocument": identifier, "contentChanges": [{"range": span, "text": typed}]}
        self.editor.notify("textDocument/didChange", change)
        began = time.perf_counter()
        at = _position(self.texts[name][:start])
        answer = self.editor.hover(uri, at["line"], at["character"])
        self.latencies.append(time.perf_counter() - began)
        assert "error" not in answer, answer
        if number % 10 == 0:
            self.editor.actions(uri, at["line"], at["character"])
        if number % 50 == 0:
            self.editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            self.versions[name] = 1
            self.editor.open(self.paths[name], self.texts[name])
        if number % 500 == 0:
            self.editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
            self.editor.command("klineage.lineage", {"uri": uri, **at})

    def sample(self, edits: int) -> Sample:
        """The server now, and the latencies since the last sample."""
        status = Path(f"/proc/{self.editor.process.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        took, self.latencies = self.latencies, []
        return Sample(
            edits,
            int(fields["VmRSS"].split()[0]) / 1024,
            len(list(Path(f"/proc/{self.editor.process.pid}/fd").iterdir())),
            int(fields["Threads"]),
            1000 * statistics.median(took),
            1000 * max(took),
        )


def endure(edits: int, seed: int, folder: Path) -> list[Sample]:
    """Edit so many times; a sample at each hour."""
    session = Session(folder, seed)
    samples = []
    try:
        every = min(EDITS_AN_HOUR, max(1, edits // 4))
        for number in range(1, edits + 1):
            session.edit(number)
            if number % every == 0:
                samples.append(session.sample(number))
                session.editor.notified.clear()
    finally:
        session.editor.close()
    return samples


def table(samples: list[Sample]) -> str:
    """The samples as Markdown."""
    lines = ["| edits | resident MB | open files | threads | hover, median ms | worst ms |", "|---" * 6 + "|"]
    lines += [
        f"| {s.edits:,} | {s.resident_mb:.0f} | {s.handles} | {s.threads} | {s.median_ms:.1f} | {s.worst_ms:.0f} |"
        for s in samples
    ]
    return "\n".join(lines)


def _position(before: str) -> dict[str, Any]:
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


def main() -> None:
    """Print the table; status 1 when memory or open files have grown from the fourth hour to the last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=24 * EDITS_AN_HOUR)
    parser.add_argument("--seed", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="klineage-day-") as name:
        samples = endure(asked.edits, asked.seed, Path(name) / "repository")
    print(table(samples))
    settled, last = samples[min(3, len(samples) - 1)], samples[-1]
    sys.exit(last.handles > settled.handles or last.resident_mb > 1.25 * settled.resident_mb)


if __name__ == "__main__":
    main()
