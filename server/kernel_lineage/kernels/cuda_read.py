"""Addresses that the reader of `code/` gives, as linear forms over threads, warps, blocks and loops."""

from __future__ import annotations

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import Num, Op, Term, Var, variables
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access, Model
from kernel_lineage.kernels.linear_forms import Coefficient, Linear, add, divided, remainder, scale
from kernel_lineage.kernels.source import Kernel

_AXES = {"threadIdx.x": "x", "threadIdx.y": "y", "threadIdx.z": "y",
         "blockIdx.x": "block", "blockIdx.y": "block", "blockIdx.z": "block"}  # fmt: skip


def forms_of(kernel: Kernel) -> dict[tuple[int, int], Linear]:
    """The forms of the accesses that the kernel itself makes, in elements, by where they stand in the file.

    A place that is read on several paths with different forms, and one whose address is not known, has none.
    """
    model = read_open(kernel)
    found: dict[tuple[int, int], Linear | None] = {}
    for access in model.accesses:
        if access.at is None or access.calls:
            continue
        form = _form(model, access)
        found[access.at] = form if found.get(access.at, form) == form else None
    return {place: form for place, form in found.items() if form is not None}


def value_form(kernel: Kernel, place: tuple[int, int]) -> Linear | None:
    """The form of an integer expression of the kernel itself; None where it is not known."""
    model = read_open(kernel)
    key = "form", place
    if key not in model.derived:
        term = model.values.get(place)
        known = term is not None and not _is_data(model, term)
        model.derived[key] = _linear(model, term) if term is not None and known else None
    form = model.derived[key]
    return dict(form) if isinstance(form, dict) else None


def _form(model: Model, access: Access) -> Linear | None:
    if access.offset is None or _is_data(model, access.offset):
        return None
    return _linear(model, access.offset, access.nbytes, f"sizeof({access.element})")


def _is_data(model: Model, term: Term) -> bool:
    """Whether a term holds a value that no other term gives."""
    names = variables(term)
    return any(n in model.depends and n not in model.loops and model.depends[n] != () for n in names)


def _linear(model: Model, term: Term, nbytes: int = 1, size: str = "") -> Linear | None:
    """The form of a term that counts so many bytes as one; None when it is no whole number of them."""
    form: Linear = {}
    for monomial, coefficient in polynomial(term).items():
        moving = [factor for factor in monomial if any(_axis(model, n) for n in variables(factor))]
        if not moving:
            continue
        still = [factor for factor in monomial if factor not in moving]
        by = _coefficient(coefficient, still, nbytes, size)
        if by is None:
            return None
        axes = {_axis(model, n) for factor in moving for n in variables(factor)} - {""}
        own = _factor(model, moving[0]) if len(moving) == 1 else dict.fromkeys(sorted(axes), "?")
        form = add(form, scale(own, by))
    return form


def _factor(model: Model, factor: Term) -> Linear:
    """What moves within one factor of a product."""
    match factor:
        case Var(name):
            return {_axis(model, name): 1}
        case Op("//" | "quot", (a, b)) if (inner := _linear(model, a)) is not None:
            return divided(inner, str(b), "/")
        case Op("%" | "rem", (_, Num(number))) if number % 32:
            pass  # lanes of one warp start again
        case Op("%" | "rem", (a, b)) if (inner := _linear(model, a)) is not None:
            return remainder(inner, str(b), "%")
    axes = {_axis(model, name) for name in variables(factor)} - {""}
    return dict.fromkeys(sorted(axes), "?")


def _axis(model: Model, name: str) -> str:
    loop = model.loops.get(name)
    if loop is not None:
        return f"loop@{loop.at[0]}" if loop.at is not None else ""
    return _AXES.get(name, "")


def _coefficient(number: int, still: list[Term], nbytes: int, size: str) -> Coefficient | None:
    """What an index moves by: bytes over the element's size."""
    if nbytes:
        if number % nbytes:
            return None
        number //= nbytes
    elif any(str(factor) == size for factor in still):
        still = [factor for factor in still if str(factor) != size]
    else:
        return None
    symbols = [str(factor) for factor in still]
    if not symbols:
        return number
    return "*".join(symbols if number == 1 else [*symbols, str(number)])
