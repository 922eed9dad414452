"""How far apart neighbouring threads of a warp reach: addresses evaluated over 32 lanes at drawn sizes and launches.

Sizes are drawn as multiples of 32 and large, as rows of real data mostly are; constants of the code whose values are
not seen (template parameters, macros of other headers) as powers of two, and where these decide, the stride is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Literal

from kernel_gate.expr.polynomials import coefficient_of, polynomial, term_of
from kernel_gate.expr.terms import Num, Term, Var, substituted, variables
from kernel_lineage.code.model import Access, Model

from .term_values import UndefinedError, evaluate

LANES = 32
LANE = Var("threadIdx.x")
Form = Literal["uniform", "unit", "strided", "mixed", "unknown"]
_DRAWS = 6
_SIZES = (64, 96, 128, 1024, 768, 4096, 1120, 2080)
_CONSTANTS = (4, 8, 16, 32, 64, 128)
_BLOCKS = (128, 64, 256, 1024, 512, 32)


@dataclass(frozen=True, slots=True)
class Stride:
    """What lies between the addresses of neighbouring lanes."""

    form: Form
    elements: int | None = None
    """The number of elements, where it is the same for all sizes."""
    nbytes: int | None = None
    why: str = ""
    """Why it is unknown."""

    def __str__(self) -> str:
        return f"strided {self.elements}" if self.form == "strided" and self.elements else self.form


def lane_stride(model: Model, access: Access) -> Stride:
    """The stride of an access along `threadIdx.x`."""
    if access.offset is None:
        return Stride("unknown", why=access.reason or "the address is not known")
    key = (access.offset, access.nbytes, access.element)
    kept = model.derived.get(key)
    if not isinstance(kept, Stride):
        kept = stride_of(model, access.offset, access.nbytes or None, access.element)
        model.derived[key] = kept
    return kept


def stride_of(model: Model, offset: Term, nbytes: int | None, element: str = "") -> Stride:
    """The stride of a byte offset in elements of so many bytes; None: of the type's own symbol."""
    names = list(dict.fromkeys(variables(offset)))
    if (culprit := next((n for n in names if _varies_by_data(model, n, set())), None)) is not None:
        return Stride("unknown", why=model.unknowns.get(culprit, f"`{culprit}` is data"))
    if not any(_moves(model, name, set()) for name in names):
        return Stride("uniform", 0, 0)
    strides: list[Stride] = []
    draw = Random(1)
    linear = coefficient_of(polynomial(offset), LANE)
    step = term_of(linear[0]) if linear is not None else None
    if step is not None:
        names = list(dict.fromkeys(variables(step)))
    for number in range(_DRAWS):
        values = _drawn(model, names, draw, number)
        size = nbytes or values.setdefault(f"sizeof({element})", (2, 4, 8)[number % 3])
        try:
            strides.append(
                _at(offset, values, size) if step is None else _stride(evaluate(step, values), size)
            )
        except UndefinedError as error:
            return Stride("unknown", why=str(error))
        if strides[-1].form != strides[0].form:
            break
    return _together(strides)


def _together(strides: list[Stride]) -> Stride:
    forms = {stride.form for stride in strides}
    if len(forms) > 1:
        return Stride("unknown", why="values that are not seen decide it")
    (form,) = forms
    elements, nbytes = {s.elements for s in strides}, {s.nbytes for s in strides}
    return Stride(
        form, elements.pop() if len(elements) == 1 else None, nbytes.pop() if len(nbytes) == 1 else None
    )


def _at(offset: Term, values: dict[str, int], size: int) -> Stride:
    first = values[LANE.name]
    moving = substituted(offset, {name: Num(value) for name, value in values.items() if name != LANE.name})
    reached = [evaluate(moving, {LANE.name: first + lane}) for lane in range(LANES)]
    steps = {b - a for a, b in pairwise(reached)}
    if len(steps) > 1:
        return Stride("mixed")
    return _stride(steps.pop(), size)


def _stride(step: int, size: int) -> Stride:
    if step == 0:
        return Stride("uniform", 0, 0)
    whole = step // size if step % size == 0 else None
    return Stride("unit" if step == size else "strided", whole, step)


def _drawn(model: Model, names: list[str], draw: Random, number: int) -> dict[str, int]:
    """Values of all variables: of a size, of a constant, of the launch, of a round."""
    block = _BLOCKS[number % len(_BLOCKS)]
    values = {
        "blockDim.x": block, "blockDim.y": (1, 4, 8)[number % 3], "blockDim.z": 1,
        "threadIdx.x": draw.randrange(block // LANES) * LANES, "threadIdx.y": 0, "threadIdx.z": 0,
        "blockIdx.x": draw.randrange(7), "blockIdx.y": draw.randrange(5), "blockIdx.z": draw.randrange(3),
        "gridDim.x": 8 + number, "gridDim.y": 5 + number, "gridDim.z": 3,
    }  # fmt: skip
    for name in names:
        if name in values:
            continue
        if name.startswith("sizeof("):
            values[name] = (2, 4, 8)[number % 3]
        elif name.startswith(("round#", "rounds#")):
            values[name] = draw.randrange(3)
        elif name in model.choices:
            values[name] = model.choices[name][number * 5 % len(model.choices[name])]
        elif name in model.constants:
            values[name] = _CONSTANTS[(number + len(name)) % len(_CONSTANTS)]
        elif name in model.data:
            values[name] = draw.randrange(64)
        else:
            values[name] = _SIZES[(number + len(name)) % len(_SIZES)]
    return values


def _varies_by_data(model: Model, name: str, seen: set[str]) -> bool:
    """Whether lanes may see different values of a variable that no term gives."""
    if name not in model.depends or name in seen:
        return False
    seen.add(name)
    follows = model.depends[name]
    if follows is None:
        return True
    used = {n for term in follows for n in variables(term)}
    return any(_moves(model, n, set()) or _varies_by_data(model, n, seen) for n in sorted(used))


def _moves(model: Model, name: str, seen: set[str]) -> bool:
    """Whether a variable is the lane, or follows from it."""
    if name == LANE.name:
        return True
    if name in seen:
        return False
    seen.add(name)
    follows = model.depends.get(name) or ()
    return any(_moves(model, n, seen) for term in follows for n in variables(term))
