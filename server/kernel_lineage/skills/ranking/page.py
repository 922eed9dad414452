"""The page on what is offered next: the order in a few words, and the rules on what limits a kernel as a table."""

from __future__ import annotations

from kernel_lineage.skills.ranking.rules import rules

_ABOUT = """\
# What is offered next

`klineage applicable` and the code actions are ordered by

1. truth: skills whose validity conditions hold, then those that are unknown, then those that fail;
2. limits: what a rule below forbids comes last, with the reason (`not now: …`);
3. score: of the steps that could have added the mechanism, how many did, raised or lowered by measured effects (this
   device before others), and by what limits the kernel. Steps of the repository at hand (`klineage mine --counts`) and
   of the same language count most; what was taken back or rejected counts little or nothing.

The same counts and the same facts always give the same order. Each place has its reason in one clause. What came before
a step, and which mechanisms were there, do not count: a ranking by these foretold less
([how that was measured](../tests/benchmarks/results/ranking.md)).

Every verdict of the gate about a skill is kept in the user's cache folder, one file for each candidate: they move the
counts, they tell later what limits the kernel (counts, registers, occupancy, shares of the peaks), and what was rejected
on a kernel is not tried on that same text again. `klineage apply --anyway` overrides that, and a `not now`.

# Rules on what limits a kernel

A rule fires when its condition is known to hold for the kernel's facts (`profile.…`, `kernel.…`; state them with
`--fact`, or let a run of the gate show them). What one rule forbids is not offered, whatever another favours.
"""


def render() -> str:
    """The page as Markdown."""
    lines = [_ABOUT, "| rule | when | favours | forbids | because | source |", "|---|---|---|---|---|---|"]
    for rule in rules():
        favours, forbids = (", ".join(names) or "–" for names in (rule.favours, rule.forbids))
        lines.append(f"| {rule.id} | `{rule.when}` | {favours} | {forbids} | {rule.reason} | {rule.source} |")
    return "\n".join(lines) + "\n"
