"""A draft as a workload file for people: what was concluded and what was not found are comments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_gate.cleaning import cleaned

if TYPE_CHECKING:
    from kernel_lineage.workloads.model import Draft, DraftArgument


def written(draft: Draft) -> str:
    """The file's text. Raises nothing; an incomplete draft gives a file that says what is to be filled in."""
    return "\n".join(_lines(draft)) + "\n"


def _lines(draft: Draft) -> Iterator[str]:
    yield f"# Drafted from {_comment(draft.source)}; check it, then commit it."
    yield from (f"# {_comment(note)}" for note in draft.assumed)
    yield from (f"# not found: {_comment(what)}" for what in draft.missing)
    yield f"kernel = {_text(draft.kernel)}"
    yield f"language = {_text(draft.language.value)}"
    yield f"source = {_text(draft.source)}"
    if draft.promises:
        yield f"promises = {json.dumps(list(draft.promises))}"
    yield ""
    yield "[dims]"
    yield from (f"{name} = [{size}]" for name, size in draft.checked.items())
    for dims in draft.timed if draft.dims else ():
        yield "[[profile_dims]]"
        yield from (f"{name} = {size}" for name, size in dims.items())
    filling = [a for a in draft.arguments if a.variable]
    apart = [a.name for a in draft.arguments if a.kind in ("null", "constant")]
    for argument in draft.arguments:
        if argument.name not in apart:
            yield ""
            yield from _argument(argument)
    yield ""
    for argument in filling:
        yield "[[launches]]"
        yield f"variable = {_text(argument.variable)}"
        yield f"buffer = {_text(argument.name)}"
    if apart or draft.template_arguments or draft.has_fields or filling:
        yield "[[launches]]"
        yield f"kernel = {_text(draft.entry or draft.kernel)}"
        yield f"arguments = [{', '.join(_launched_with(draft))}]"
        if draft.template_arguments:
            yield f"template_arguments = {json.dumps(list(draft.template_arguments))}"
    else:
        yield "[launch]"
    if draft.grid:
        yield f"grid = {json.dumps(list(draft.grid))}"
    else:
        yield "# not found: grid = [...]"
    if draft.language.value == "cuda":
        block = json.dumps(list(draft.block))
        yield f"block = {block}" if draft.block else "# not found: block = [...]"
        yield f"shared_bytes = {_text(draft.shared_bytes)}"
    if draft.constexpr:
        pairs = ", ".join(f"{name} = {_text(value)}" for name, value in draft.constexpr.items())
        yield f"constexpr = {{ {pairs} }}"
    if draft.language.value == "triton":
        yield f"num_warps = {_text(draft.num_warps)}"
        yield f"num_stages = {_text(draft.num_stages)}"


def _launched_with(draft: Draft) -> Iterator[str]:
    """What the launch gives for each parameter of the kernel."""
    rest = [a for a in draft.arguments if not a.variable]
    number = 0
    while rest or number in draft.structures:
        structure = draft.structures.get(number)
        if structure is None:
            yield _word(rest.pop(0))
        else:
            own = [a for a in rest if a.place is not None and a.place[0] == number]
            rest = rest[len(own) :]
            there = [(a.place[1], _word(a)) for a in own if a.place is not None and a.kind != "null"]
            yield (
                f"{{ fields = [{', '.join(word for _, word in there)}], at = {[at for at, _ in there]}, "
                f"bytes = {structure.nbytes}, align = {structure.align} }}"
            )
        number += 1


def _word(argument: DraftArgument) -> str:
    if argument.kind == "null":
        return '{ value = "0", dtype = "uint64" }'
    if argument.kind == "constant":
        return f"{{ value = {_text(str(argument.value))}, dtype = {_text(argument.dtype or 'uint32')} }}"
    return _text(argument.name)


def _argument(argument: DraftArgument) -> Iterator[str]:
    yield "[[args]]"
    yield f"name = {_text(argument.name)}"
    yield f"kind = {_text(argument.kind)}"
    yield f"dtype = {_text(argument.dtype)}" if argument.dtype else "# not found: dtype = ..."
    if argument.kind == "scalar":
        value = argument.value
        yield f"value = {_text(str(value))}" if value is not None else "# not found: value = ..."
        return
    shape = json.dumps(list(argument.shape)) if argument.shape else ""
    yield f"shape = {shape}" if shape else "# not found: shape = [...]"
    if argument.values:
        yield f"values = {_text(argument.values)}"
    if argument.noalias:
        yield "noalias = true"
    if argument.descriptor:
        yield f"descriptor = {json.dumps(list(argument.descriptor))}"


def _comment(text: str) -> str:
    """One line, which names and messages of others cannot end."""
    return cleaned(" ".join(text.split()), "terminal")


def _text(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)
