"""How well the intents of transitions are told: F1 against labels made by hand, before and after tuning."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.intent_sample import half, sample, to_read

from kernel_lineage.history.mine import mine

SUMMARY = "intents of transitions against hand-made labels (needs checkouts)"
MEASURED = ("optimisation", "fix", "refactor", "revert", "feature")
_HERE = Path(__file__).parent
_RESULTS = _HERE / "results"
_LABELS = _HERE / "intents" / "labels.toml"
_DRAWN = {
    "https://github.com/karpathy/llm.c": (50, 8),
    "https://github.com/linkedin/Liger-Kernel": (50, 6),
    "https://github.com/siboehm/SGEMM_CUDA": (24, 4),
    "https://github.com/fla-org/flash-linear-attention": (44, 12),
}
"""Repository → how many transitions were drawn, and how many likely reverts besides."""

Key = tuple[str, str, str, str, str]


def main(arguments: list[str]) -> None:
    """`list` prints the sample to read; `measure` writes `results/intents.json` and `results/intents.md`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks intents")
    parser.add_argument("part", choices=["list", "measure", "errors"])
    parser.add_argument("checkouts", type=Path, nargs="+", help="named as their repository: llm.c, …")
    parser.add_argument(
        "--run", choices=["before", "after"], default="after", help="where `measure` keeps it"
    )
    options = parser.parse_args(arguments)
    checkouts = {
        url: path for url in _DRAWN for path in options.checkouts if path.name == url.rpartition("/")[2]
    }
    if options.part == "list":
        _list(checkouts)
    elif options.part == "errors":
        _errors(checkouts)
    else:
        _measure(checkouts, options.run)


def labels() -> dict[Key, str]:
    """What each labelled transition is, by repository, commit, path, kernel and the kernel before."""
    rows = tomllib.loads(_LABELS.read_text())["label"]
    return {(r["repository"], r["commit"], r["path"], r["kernel"], r["before"]): r["intent"] for r in rows}


def mined_intents(checkouts: Mapping[str, Path], wanted: Iterable[Key]) -> dict[Key, tuple[str, str]]:
    """What the classifier says of each wanted transition that is mined, and why."""
    intents: dict[Key, tuple[str, str]] = {}
    for url, checkout in checkouts.items():
        for lineage in mine(checkout).lineages:
            versions = {v.id: v for v in lineage.versions}
            for t in lineage.transitions:
                before, after = versions[t.before], versions[t.after]
                key = (url, t.commit or "", after.path, after.symbol, f"{before.path}:{before.symbol}")
                intents.setdefault(key, (t.intent, t.because))
    return {key: intents[key] for key in wanted if key in intents}


def scores(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Precision, recall and F1 of each intent over (label, said), and the share that agrees."""
    both = Counter(pairs)
    total = sum(both.values())
    rows = {}
    for intent in MEASURED:
        right = both[intent, intent]
        claimed = sum(n for (_, claim), n in both.items() if claim == intent)
        labelled = sum(n for (label, _), n in both.items() if label == intent)
        rows[intent] = {
            "labelled": labelled,
            "precision": round(right / claimed, 3) if claimed else None,
            "recall": round(right / labelled, 3) if labelled else None,
            "f1": round(2 * right / (claimed + labelled), 3) if claimed + labelled else None,
        }
    agrees = sum(n for (label, claim), n in both.items() if label == claim)
    return {"transitions": total, "agree": round(agrees / total, 3) if total else None, "intents": rows}


def as_table(result: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    lines = ["Intents of transitions against hand-made labels (`tests/benchmarks/intents/labels.toml`).", ""]
    lines += [
        "| | | n | " + " | ".join(MEASURED) + " | agree |",
        "|---|---|---|" + "---|" * (len(MEASURED) + 1),
    ]
    for run, measured in result["runs"].items():
        for part, score in measured["halves"].items():
            f1 = " | ".join(
                "–" if row["f1"] is None else f"{row['f1']:.2f} ({row['labelled']})"
                for row in score["intents"].values()
            )
            name = part.replace("_", " ")
            lines.append(f"| {run} | {name} | {score['transitions']} | {f1} | {score['agree']:.2f} |")
    lines += ["", "F1, and in brackets how many are labelled so. " + _REMARK]
    return "\n".join(lines) + "\n"


_REMARK = (
    "*before* is the classifier as it was when the labels were made, *after* the one tuned on the tuning half; the "
    "halves are drawn by the hash of the commit. Labels and rules have one author, who labelled first; no second "
    "person has labelled. Reverts are so rare that all likely ones were drawn: their figures stand on few. *after* "
    "leaves out the labelled transitions that mining no longer has, counted in `intents.json`."
)


def _measure(checkouts: Mapping[str, Path], run: str) -> None:
    truth = {key: intent for key, intent in labels().items() if key[0] in checkouts}
    claims = mined_intents(checkouts, truth)
    halves = {
        part: scores((truth[key], claims[key][0]) for key in claims if part in ("all", half(key[1])))
        for part in ("tuning", "held_out", "all")
    }
    path = _RESULTS / "intents.json"
    result = json.loads(path.read_text()) if path.exists() else {"runs": {}}
    names = " ".join(path.name for path in checkouts.values())
    result["runs"][run] = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "command": f"python -m tests.benchmarks intents measure {names} --run {run}",
        "not mined": len(truth) - len(claims),
        "halves": halves,
    }
    path.write_text(json.dumps(result, indent=2) + "\n")
    (_RESULTS / "intents.md").write_text(as_table(result))
    print(as_table(result))  # noqa: T201


def _list(checkouts: Mapping[str, Path]) -> None:
    for url, checkout in checkouts.items():
        for sampled in sample(checkout, url, *_DRAWN[url]):
            print(f"##### {url} [{sampled.stratum}]\n{to_read(checkout, sampled)}\n")  # noqa: T201


def _errors(checkouts: Mapping[str, Path]) -> None:
    """Where the classifier disagrees on the tuning half; the held-out half is not shown."""
    truth = {
        key: intent for key, intent in labels().items() if key[0] in checkouts and half(key[1]) == "tuning"
    }
    for key, (intent, because) in mined_intents(checkouts, truth).items():
        if truth[key] != intent:
            print(f"{truth[key]:12} said {intent:12} {key[1][:9]} {key[2]}:{key[3]}\n    {because}")  # noqa: T201
