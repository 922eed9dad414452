"""The page on what is offered next: the graph in a few words, and the rules on what limits a kernel as a table."""

from __future__ import annotations

from kernel_lineage.skills.graph.rules import rules

_ABOUT = """\
# What is offered next

`klineage graph [REPO]` builds the transition graph of a repository: *strategies* (mechanisms) under their *directions*,
and edges that say which strategy came after which, how often, with what measured effect, and what was said against it
later; every edge names its transitions. `klineage applicable` and the code actions are ordered by it:

1. skills whose validity conditions hold, then those that are unknown, then those that fail;
2. what a rule below forbids comes last, with the reason (`not now: …`);
3. the rest by score: of the steps that could have added the strategy, how many did, raised or lowered by the mechanisms
   that were there, by measured effects (this device before others), and by what limits the kernel. Steps of the repository at hand and of the same language count most; what was taken back or
   rejected counts little or nothing.

The same graph and the same facts always give the same order. Each place has its reason in one clause.

Every verdict of the gate about a skill is kept in the user's cache folder, one file for each candidate: they move the graph, they tell later what limits the kernel (counts, registers, occupancy,
shares of the peaks), and what was rejected on a kernel is not tried on that same text again. `klineage apply --anyway`
overrides that, and a `not now`.

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
