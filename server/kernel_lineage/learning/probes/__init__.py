"""Probes: what must hold for the later state of a transition and need not for the earlier one.

One fact at a time is moved across its boundaries (`axes/`, one file each), both states run through the gate, and where
only the later one fails a predicate over named facts is learned, confirmed on both sides, and kept as a condition.

Invariants: a probe in which the earlier state fails too says nothing; a condition that a held-out set of probes does
not agree with is dropped and said so; the same step, seed and budget of runs give the same report.
"""
