"""How many fields of drafted workloads are wrong, against descriptions that were written by reading the sources.

python -m tests.benchmarks described REPOSITORIES [--kernel NAME] [--record] [--write]

`REPOSITORIES` is the folder that holds the checkouts. A description (`described/kernels.toml`) says what a kernel is
given: for a buffer its kind, dtype, number of elements and, where they are known, the range of its values; for a number
its value; grid and block. Expressions are over the kernel's own numbers, its constexpr parameters, and `grid_x`,
`grid_y`, `grid_z`, so that a draft may call its dims as it likes; `any` is what every caller may choose. Both the timed
and the checked sizes of a draft are compared.
"""

from __future__ import annotations

import argparse
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from kernel_gate.expressions import ExpressionError, Number, evaluate
from kernel_lineage.workloads.model import Draft, DraftArgument
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for
from kernel_lineage.workloads.recording.recorder import Recorder

SUMMARY = "how many fields of drafted workloads differ from what was described by hand"
RESULTS = Path(__file__).parent / "results" / "described.md"
_KERNELS = Path(__file__).parent / "described" / "kernels.toml"
_BUFFER = re.compile(r"(input|output|inout|scratch) (\S+) \[(.+?)\]\s*(.*)")
_RANGE = re.compile(r"(?:integers\((.+), |permutation\()(.+)\)")


@dataclass(frozen=True)
class Field:
    """One field of one kernel: what was described and what was drafted."""

    kernel: str
    field: str
    described: str
    drafted: str
    right: bool


def fields(kernel: Mapping[str, object], draft: Draft) -> Iterator[Field]:
    """Every field that is described, as a draft has it at its timed and at its checked sizes."""
    name = f"{kernel['name']} in {Path(str(kernel['path'])).name}"
    for line in map(str, kernel["arguments"]):  # type: ignore[call-overload]
        field, _, value = line.partition(": ")
        argument = next((a for a in draft.arguments if a.name == field), None)
        match = _BUFFER.fullmatch(value)
        if argument is None:
            there = field in draft.constexpr
            yield Field(
                name, field, value, str(draft.constexpr.get(field, "not there")), there and match is None
            )
        elif match is None:
            yield _compared(name, field, value, str(argument.value), draft)
        else:
            kind, dtype, elements, values = match.groups()
            yield Field(name, f"{field}: kind", kind, argument.kind, argument.kind == kind)
            right = dtype == "*" or argument.dtype in dtype.split("|")
            yield Field(name, f"{field}: dtype", dtype, argument.dtype, right)
            shape = " * ".join(f"({e})" for e in argument.shape or ("1",))
            yield _compared(name, f"{field}: elements", elements, shape, draft)
            if values:
                yield Field(
                    name, f"{field}: values", values, argument.values, _within(values, argument, draft)
                )
    for what, drafted in (("grid", draft.grid), ("block", draft.block)):
        for axis, value in enumerate(map(str, kernel.get(what, ()))):  # type: ignore[call-overload]
            extent = drafted[axis] if axis < len(drafted) else "1"
            yield _compared(name, f"{what}[{axis}]", value, str(extent), draft)


def _compared(kernel: str, field: str, described: str, drafted: str, draft: Draft) -> Field:
    """Two expressions, at all sizes of a draft."""
    if described == "any":
        return Field(kernel, field, described, drafted, True)
    right = True
    for sizes in (draft.dims, draft.checked):
        try:
            wanted, actual = (
                evaluate(described, _names(draft, sizes)),
                evaluate(drafted, _dim_values(draft, sizes)),
            )
            right = right and math.isclose(wanted, actual, rel_tol=1e-6)
        except ExpressionError:
            right = False
    return Field(kernel, field, described, drafted, right)


def _names(draft: Draft, sizes: Mapping[str, int]) -> dict[str, Number]:
    """What descriptions and drafts speak of, at some sizes."""
    values = _dim_values(draft, sizes)
    names = dict(values)
    for argument in draft.arguments:
        if argument.kind == "scalar":
            names[argument.name] = evaluate(str(argument.value), values)
    for axis, extent in zip(("grid_x", "grid_y", "grid_z"), (*draft.grid, "1", "1"), strict=False):
        names[axis] = evaluate(extent, values)
    return names


def _dim_values(draft: Draft, sizes: Mapping[str, int]) -> dict[str, Number]:
    """What the expressions of a draft speak of: its dims and its constexpr parameters."""
    names: dict[str, Number] = dict(sizes)
    for name, text in draft.constexpr.items():
        try:
            names[name] = evaluate(text, names)
        except ExpressionError:
            continue
    return names


def _within(described: str, argument: DraftArgument, draft: Draft) -> bool:
    """Whether the drawn values are those that are described: `0..V`, or a way to draw them."""
    low, dots, high = described.partition("..")
    match = _RANGE.fullmatch(argument.values)
    if not dots or match is None:
        return argument.values == described
    names = _names(draft, draft.checked)
    least, most = evaluate(match[1] or 0, names), evaluate(match[2], names)
    return bool(evaluate(low, names) <= least and most <= evaluate(high, names))


def page(compared: list[Field], left: list[tuple[str, str]], command: str) -> str:
    """The figures, then each wrong field, then each kernel without a draft."""
    wrong = [f for f in compared if not f.right]
    kernels = len({f.kernel for f in compared})
    share = len(wrong) / max(1, len(compared))
    lines = [
        "# Drafts beside descriptions by hand",
        "",
        f"`{command}`, {date.today().isoformat()}.",
        f"{kernels + len(left)} kernels are described, {kernels} of them are drafted. Of {len(compared)} fields",
        f"of these {len(wrong)} are wrong ({share:.1%}).",
        "",
        "| kernel | field | described | drafted |",
        "|---|---|---|---|",
        *(f"| {f.kernel} | {f.field} | `{f.described}` | `{f.drafted}` |" for f in wrong),
        "",
        "| not drafted | why |",
        "|---|---|",
        *(f"| {name} | {why.replace('|', '¦')[:160]} |" for name, why in left),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--kernel", default="", help="only kernels with this in their name")
    parser.add_argument(
        "--record", action="store_true", help="run host code where reading leaves something open"
    )
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    options = parser.parse_args(arguments)
    fields_read: list[Field] = []
    left: list[tuple[str, str]] = []
    states: dict[str, State] = {}
    for kernel in tomllib.loads(_KERNELS.read_text("utf-8"))["kernel"]:
        if options.kernel not in kernel["name"]:
            continue
        repository = kernel["repository"]
        state = states.setdefault(repository, State(options.repositories / repository))
        recorder = Recorder(state.root) if options.record else None
        draft = draft_for(state, kernel["path"], kernel["name"], recorder=recorder)
        if isinstance(draft, NoDraft):
            left.append((kernel["name"], draft.reason))
        else:
            fields_read += fields(kernel, draft)
    text = page(fields_read, left, "python -m tests.benchmarks described REPOSITORIES")
    if options.write:
        RESULTS.write_text(text, "utf-8")
    print(text)  # noqa: T201
