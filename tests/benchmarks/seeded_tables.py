"""The study of seeded bugs as Markdown: shares, what found what, and every survivor with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .seeded_bugs import Explained, Seeded

_SETTING = "On the emulated device: build, check against float64 and against the kernel, all detectors."
_BESIDE = """*Beside it*: the named line is in the same statement or innermost loop, computes with a name to which the
changed line gives a value, or is one of two accesses between which the dropped barrier stood. A wrong value names the
last store to the wrong element, which may be far from its cause, and the changed lines that fed it. *Another program*
is the plainest of the same function, one thread to an element or a row (`seeded/plain.cu`): the two texts say nothing
of what is wrong, and the lines that are likeliest at fault are told from what both compute.
"""
_DISTANCES = ("same", "near", "far", "none")


def render(rows: Sequence[Seeded], examined: Mapping[tuple[str, str], Explained], per_kind: int) -> str:
    """The whole page."""
    clean = [r for r in rows if not r.mutant]
    mutants = [r for r in rows if r.mutant]
    alarms = [r for r in clean if r.fate != "survived"]
    survivors = [r for r in mutants if r.fate == "survived"]
    equal = [r for r in survivors if (e := examined.get((r.kernel, r.mutant))) and e.equivalent]
    judged = [r for r in mutants if r.fate in ("found", "survived")]
    real = len(judged) - len(equal)
    seen = [r for r in mutants if r.fate == "found"]
    near = Counter(r.distance for r in seen)
    alone = Counter(r.stored for r in seen)
    named = near["same"] + near["near"]
    parts = [
        "# Seeded bugs\n",
        f"{len(mutants)} mutants of {len(clean)} kernels, at most {per_kind} of each kind and kernel. {_SETTING}\n",
        "| | |\n|---|---|",
        f"| alarms on the unmutated kernels | {len(alarms)} of {len(clean)} |",
        f"| mutants that do not build | {sum(r.fate == 'unbuildable' for r in mutants)} of {len(mutants)} |",
        f"| run ended otherwise | {sum(r.fate == 'undecided' for r in mutants)} of {len(mutants)} |",
        f"| found, of all that build | {_share(len(seen), len(judged))} |",
        f"| survivors that compute the same | {len(equal)} of {len(survivors)} |",
        f"| found, without those | {_share(len(seen), real)} |",
        f"| of the found, a changed line is named | {_share(near['same'], len(seen))} |",
        f"| of the found, that line or one beside it | {_share(named, len(seen))} |",
        *_apart(seen),
        f"| the last store alone: the changed line | {_share(alone['same'], len(seen))} |",
        f"| … or one beside it | {_share(alone['same'] + alone['near'], len(seen))} |\n",
        _BESIDE,
        _fed([r for r in seen if r.fed]),
        _by_what(seen),
        _by_kind(mutants, examined),
        _survivors(survivors, examined),
        _named(alarms, "Alarms on unmutated kernels"),
        _named([r for r in mutants if r.fate == "undecided"], "Ended otherwise"),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _apart(rows: Sequence[Seeded]) -> list[str]:
    """Rows of what is named when the baseline is another program, in which no line was changed."""
    first, best = Counter(r.suspected for r in rows), Counter(r.apart for r in rows)
    drawn = sum(min(1.0, len(r.suspects) / r.fed) * r.fed_by_change for r in rows if r.fed)
    count = sum(r.fed > 0 for r in rows)
    return [
        f"| against another program: the changed line is named first | {_share(first['same'], len(rows))} |",
        f"| … is among the lines named, three at most | {_share(best['same'], len(rows))} |",
        f"| … or one beside it | {_share(best['same'] + best['near'], len(rows))} |",
        f"| … as many drawn from all that fed it | {100 * drawn / max(count, 1):.1f} % of {count} wrong values |",
    ]


def _fed(rows: Sequence[Seeded]) -> str:
    """How well the walk back from a wrong element does, apart from the difference of the texts."""
    if not rows:
        return ""
    shares = sorted(r.fed / r.lines for r in rows)
    reached = _share(sum(r.fed_by_change for r in rows), len(rows))
    many = _share(sum(share > 0.5 for share in shares), len(rows))
    median = f"{100 * shares[len(shares) // 2]:.0f} %"
    return f"""The walk back from a wrong element was made for {len(rows)} mutants. The changed line is among the lines
that it reached in {reached}; those are {median} of the kernel's lines in the median, and more than half of them in
{many}. It is the difference of the texts that picks one of them: a mutant differs in one place, a
rewrite in many, of which those that fed the element are named.
"""


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / max(whole, 1):.1f} %)"


def _by_what(rows: Sequence[Seeded]) -> str:
    lines = [
        "## What found them\n",
        "| found by | mutants | " + " | ".join(f"line: {d}" for d in _DISTANCES) + " |",
    ]
    lines.append("|---|---|" + "---|" * len(_DISTANCES))
    for by, count in Counter(r.by for r in rows).most_common():
        counted = Counter(r.distance for r in rows if r.by == by)
        lines.append(f"| {by} | {count} | " + " | ".join(str(counted[d]) for d in _DISTANCES) + " |")
    return "\n".join(lines) + "\n"


def _by_kind(mutants: Sequence[Seeded], examined: Mapping[tuple[str, str], Explained]) -> str:
    lines = [
        "## By kind\n",
        "| kind | build | found | same | missed | line same or beside | against another program: the line |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in sorted({r.kind for r in mutants}):
        these = [r for r in mutants if r.kind == kind and r.fate in ("found", "survived")]
        seen = [r for r in these if r.fate == "found"]
        left = [examined.get((r.kernel, r.mutant)) for r in these if r.fate == "survived"]
        equal = sum(1 for e in left if e is not None and e.equivalent)
        near = sum(r.distance in ("same", "near") for r in seen)
        apart = sum(r.apart == "same" for r in seen)
        lines.append(
            f"| `{kind}` | {len(these)} | {len(seen)} | {equal} | {len(left) - equal} | {near} | {apart} |"
        )
    return "\n".join(lines) + "\n"


def _survivors(survivors: Sequence[Seeded], examined: Mapping[tuple[str, str], Explained]) -> str:
    if not survivors:
        return ""
    lines = ["## Survivors\n", "| kernel | mutant | change | verdict | why |", "|---|---|---|---|---|"]
    for row in survivors:
        about = examined.get((row.kernel, row.mutant))
        answer = ("same" if about.equivalent else "missed", about.why) if about else ("not examined", "")
        change = f"{_code(row.before)} → {_code(row.after)}"
        lines.append(f"| `{row.kernel}` | `{row.mutant}` | {change} | {answer[0]} | {answer[1]} |")
    return "\n".join(lines) + "\n"


def _named(rows: Sequence[Seeded], title: str) -> str:
    if not rows:
        return ""
    return (
        f"## {title}\n\n" + "\n".join(f"- `{r.kernel}` `{r.mutant}`: {r.by}: {r.reason}" for r in rows) + "\n"
    )


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`".replace("|", "\\|")
