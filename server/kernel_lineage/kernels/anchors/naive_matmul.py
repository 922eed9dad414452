"""A dot product of a row and a column, taken from global memory element by element.

Each factor may be multiplied by more that is read, such as the scale of a column or of a group of rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernel_gate.expr.polynomials import coefficient_of, polynomial
from kernel_gate.expr.terms import Op, Term, Var, variables
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access, Model
from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

_AXES = {f"{index}.{axis}": axis for index in ("threadIdx", "blockIdx") for axis in "xy"}
_ADDING = ("+", "fma", "add")


def _find(unit: Unit) -> Iterator[Anchor]:
    loops = {(p.node.start_byte, p.node.end_byte): p for p in unit.loops}
    if not loops:
        return
    model = read_open(unit.kernel)
    for read in model.loops.values():
        loop = loops.get(read.at or (0, 0))
        reads = {
            a.at: a
            for a in model.accesses
            if read.round in a.loops and a.space == "global" and a.reads and a.offset is not None
        }
        if (
            loop is None
            or any(read.round in other.parents for other in model.loops.values())
            or len(factors := factors_among(reads.values(), read.round)) != 2
        ):
            continue
        first, second = factors
        owners = [_owners(a.offset) for a in factors if a.offset is not None]
        # Each factor must move with an axis of its own, or it is a dot product of two rows and not a matrix product.
        if sorted(map(sorted, owners)) != [["x"], ["y"]] or not all(
            _moves(model, a.offset, read.round) for a in (first, second)
        ):
            continue
        total = _sum(unit, loop)
        if total:
            around = [loops[at] for r in first.loops if (at := model.loops[r].at) in loops]
            length = " * ".join(map(_length, around))
            names = {"a": first.root, "b": second.root, "K": length, "k": loop.counter, "sum": total}
            yield matched(loop.node, f"{first.root} times {second.root}, straight from global memory", names)
            return


def factors_among(reads: Iterable[Access], round_: str) -> list[Access]:
    """The reads of a loop that may be a product's factors: of more than two, those that each round moves evenly on."""
    reads = list(reads)
    moved = [a.offset is not None and coefficient_of(polynomial(a.offset), Var(round_)) for a in reads]
    return [a for a, by in zip(reads, moved, strict=True) if len(reads) <= 2 or (by and by[0])]


def _length(loop: Loop) -> str:
    """The bound of a counter that goes up, the start of one that goes down."""
    condition = bare(loop.condition)
    down = condition is not None and operator_of(condition) in (">", ">=")
    return text_of(loop.start if down else loop.bound)


def _owners(offset: Term) -> set[str]:
    """The axes of the grid that an address moves with; quotients and remainders of one flat index are two axes."""
    owners = {_AXES[name] for name in variables(offset) if name in _AXES}
    if owners == {"x"}:
        owners = _digits(offset)
        return {"x"} if "x" in owners else owners  # `i - i / n * n` is a remainder, too.
    return owners


def _digits(term: Term) -> set[str]:
    """`x` where a term moves with a thread's number or a remainder of it, `y` where with a quotient or what is left of
    one.
    """
    match term:
        case Op("//" | "quot", (what, _)) if "threadIdx.x" in variables(what):
            return {"y"}
        case Op("%" | "rem", (what, _)) if "threadIdx.x" in variables(what):
            return _digits(what)
        case Op(_, args):
            return set().union(*map(_digits, args))
    return {"x"} if term == Var("threadIdx.x") else set()


def _moves(model: Model, offset: Term | None, round_: str) -> bool:
    names = set(variables(offset)) if offset is not None else set()
    return round_ in names and not any(model.depends.get(n) for n in names - set(model.loops))


def _sum(unit: Unit, loop: Loop) -> str:
    """The variable that the loop adds to."""
    for node in unit.of("assignment_expression"):
        target, value = text_of(node.child_by_field_name("left")), text_of(node.child_by_field_name("right"))
        adds = text_of(node).replace(" ", "").startswith(f"{target}+=") or (
            target in value and any(word in value for word in _ADDING)
        )
        multiplies = any(word in text_of(loop.body) for word in ("*", "fma", "mul"))
        if contains(loop.node, node) and target.isidentifier() and adds and multiplies:
            return target
    return ""


PATTERN = AnchorPattern(
    title="Matrix product from global memory",
    names={
        "a": "the first factor",
        "b": "the second factor",
        "K": "the length of the dot product",
        "k": "the counter along it",
        "sum": "what gathers the result",
    },
    find=in_entry(_find),
)
