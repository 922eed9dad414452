"""What a person answers where no code tells: a size, a number, the range of an index, extents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kernel_gate.expressions import ExpressionError, names
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.cuda_text import at_commas
from kernel_lineage.workloads.model import UNRANGED, UNSHAPED, Draft

_RANGE = re.compile(r"(.+?)\.\.(.+)")
_EXTENTS = re.compile(r"\[(.+)\]")
LAUNCH = ("grid", "block")


def answers_of(written: Iterable[str]) -> dict[str, str]:
    """`C=768` and `targets=0..V` by their names. Raises `WorkloadError` for one that is not of that form."""
    answers: dict[str, str] = {}
    for answer in written:
        name, equals, value = answer.partition("=")
        if not equals or not name.strip().isidentifier() or not value.strip():
            raise WorkloadError(f"--set {answer}: write NAME=VALUE, such as C=768, targets=0..V or alpha=0.5")
        answers[name.strip()] = value.strip()
    return answers


def with_answers(draft: Draft, answers: Mapping[str, str]) -> Draft:
    """The draft with the answers in it, and no longer missing. Raises `WorkloadError` for a name that it has not."""
    for name, value in answers.items():
        argument = next((a for a in draft.arguments if a.name == name), None)
        extents = _EXTENTS.fullmatch(value)
        if extents is not None and (name in LAUNCH or (argument is not None and argument.kind != "scalar")):
            draft = _with_extents(draft, name, value, tuple(e.strip() for e in at_commas(extents[1])))
            continue
        bounds = _RANGE.fullmatch(value)
        if argument is not None and argument.kind != "scalar" and bounds is not None:
            new = replace(argument, values=f"integers({bounds[1].strip()}, {bounds[2].strip()})")
        elif name in draft.dims and value.isdigit():
            sizes = {**draft.dims, name: int(value)}
            chosen = tuple(n for n in draft.chosen if n != name)
            draft = replace(draft, dims=sizes, checked=sizes, chosen=chosen)
            continue
        elif argument is not None and argument.kind == "scalar":
            new = replace(argument, value=value)
        else:
            choices = ", ".join(dict.fromkeys((*draft.dims, *(a.name for a in draft.arguments))))
            raise WorkloadError(
                f"--set {name}={value}: a size takes a whole number, a buffer a range such as 0..V or extents such "
                f"as [N, 4], the launch grid=[…] or block=[…]; the names are {choices}"
            )
        arguments = tuple(new if a is argument else a for a in draft.arguments)
        missing = tuple(
            m for m in draft.missing if m != f"{UNRANGED}{name}" and not m.startswith(f"the value of {name},")
        )
        draft = replace(
            draft,
            arguments=arguments,
            missing=missing,
            assumed=(*draft.assumed, f"{name} is {value}, as it was answered"),
        )
    return draft


def _with_extents(draft: Draft, name: str, value: str, extents: tuple[str, ...]) -> Draft:
    """The draft with the extents of a buffer, of the grid or of the block. Raises `WorkloadError`."""
    try:
        used = {n for extent in extents for n in names(extent)}
    except ExpressionError as error:
        raise WorkloadError(f"--set {name}={value}: {error}") from error
    if used - draft.dims.keys():
        dims = ", ".join(draft.dims) or "none is known"
        raise WorkloadError(f"--set {name}={value}: extents are numbers and sizes of the draft: {dims}")
    assumed = (*draft.assumed, f"{name} is {value}, as it was answered")
    if name in LAUNCH:
        missing = tuple(m for m in draft.missing if not m.startswith(f"the launch's {name}:"))
        draft = replace(draft, missing=missing, assumed=assumed)
        return replace(draft, grid=extents) if name == "grid" else replace(draft, block=extents)
    arguments = tuple(replace(a, shape=extents) if a.name == name else a for a in draft.arguments)
    missing = tuple(m for m in draft.missing if not m.startswith(f"{UNSHAPED}{name}:"))
    return replace(draft, arguments=arguments, missing=missing, assumed=assumed)
