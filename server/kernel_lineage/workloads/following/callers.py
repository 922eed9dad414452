"""What a caller gives a function of host code: tensors by their extents and numbers, as expressions over its sizes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kernel_gate.expr.syntax import tree_of
from kernel_gate.expressions import FUNCTIONS, ExpressionError, evaluate
from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.benchmarked_sizes import benchmarked, with_benchmarks
from kernel_lineage.workloads.following.functions import HostCode, HostParameter
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.values import (
    Buffer,
    NotFollowed,
    Number,
    Pointer,
    Tensor,
    Value,
    called,
    combined,
    made,
    plain,
)
from kernel_lineage.workloads.model import Draft, DraftArgument

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%",
}  # fmt: skip
_Way = TypeVar("_Way")
_TYPES = {dtype: name for name, dtype in DTYPES.items()} | {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """One call of a function, by the names of its parameters."""

    way: str
    """The test or script that calls, as a draft names it."""
    sizes: Mapping[str, int]
    tensors: Mapping[str, DraftArgument] = field(default_factory=dict)
    """Parameter → its extents, over the sizes, its type and its values."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Parameter → a number, or an expression over the sizes."""
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Parameter → numbers of a list, or expressions over the sizes."""
    absent: frozenset[str] = frozenset()
    """Parameters that are given nothing: None."""
    promises: tuple[str, ...] = ()
    """Conditions over the sizes that the caller keeps."""
    others: tuple[Mapping[str, int], ...] = ()
    """Other sizes that the same caller comes with."""
    notes: tuple[str, ...] = ()
    """What was concluded on the way to the call."""
    is_timed: bool = False
    """Whether this is what a benchmark times."""

    def gives_all(self, parameters: Sequence[HostParameter]) -> bool:
        """Whether it gives each tensor its extents, and leaves no number open that has the name of one of its sizes."""
        tensors = [p.name for p in parameters if "Tensor" in p.type]
        numbers = [p.name for p in parameters if p.name not in tensors]
        open_ones = {*numbers} - self.numbers.keys() - self.lists.keys() - self.absent
        return self.tensors.keys() | self.absent >= {*tensors} and open_ones.isdisjoint(self.sizes)

    def taken(self, sizes: Sizes) -> dict[str, Value]:
        """What the parameters stand for; the caller's sizes become dims.

        Raises `NotFollowed` for an expression that no workload has.
        """
        dims = {name: sizes.dim_in_code(name, size, self.way) for name, size in self.sizes.items()}
        texts = (text for a in self.tensors.values() for text in a.shape or ())
        sizes.extents.update(name for text in texts for name in WORD.findall(text))
        for promise in self.promises:
            sizes.require(_number(tree_of(promise), dims))
        values: dict[str, Value] = {name: Pointer(None) for name in self.absent}
        for name, text in self.numbers.items():
            values[name] = _number(tree_of(text), dims)
        for name, listed in self.lists.items():
            values[name] = [_number(tree_of(text), dims) for text in listed]
        ones = {(self._shape(name), at): f"{name}_size_{at}" for name, at in sizes.ones}
        for name, tensor in self.tensors.items():
            shape = self._shape(name)
            extents = [_number(tree_of(text), dims) for text in shape]
            sizes.of_callers.add(name)
            for at in range(len(shape)):
                if (one := ones.get((shape, at))) is not None:
                    extents[at] = sizes.of_one(one, self.way)
            buffer = Buffer(name, values=tensor.values)
            kind = _TYPES.get(tensor.dtype or "", "")
            values[name] = Tensor(buffer, dict(enumerate(extents)), len(extents), kind)
        return values

    def _shape(self, name: str) -> tuple[str, ...]:
        return tuple(self.tensors[name].shape or ()) if name in self.tensors else ()

    def drafted(self, draft: Draft) -> Draft:
        """A draft by this call: what the caller was, its sizes, and how it was reached."""
        assumed = tuple(dict.fromkeys((*draft.assumed, *self.notes)))
        return replace(draft, way=self.way, tested=True, others=self.others, assumed=assumed)


Callers = Callable[[HostCode], Sequence[Caller]]
"""The callers of a function, those that tell most first."""


def by_callers(
    callers: Sequence[Caller],
    follow: Callable[..., tuple[_Way, Sizes] | None],
    drafted: Callable[[_Way, Sizes], Draft],
) -> Iterator[Draft]:
    """The drafts by calls of a function, of which the complete ones get the sizes that benchmarks time.

    `follow(caller=…)` comes to a launch by a call, and `drafted` says what is given to it.
    """

    def draft_of(caller: Caller) -> Draft | None:
        way = follow(caller=caller)
        return caller.drafted(drafted(*way)) if way is not None else None

    def drafts_of_benchmarks() -> list[Draft]:
        return [d for c in callers if c.is_timed and (d := draft_of(c)) is not None]

    timed: list[Draft] | None = None
    for caller in callers:
        draft = draft_of(caller) if not caller.is_timed else None
        if draft is None:
            continue
        if draft.missing:
            yield draft
            continue
        timed = timed if timed is not None else drafts_of_benchmarks()
        yield from with_benchmarks(draft, timed)
    if timed is None:
        yield from benchmarked(drafts_of_benchmarks())


def _number(tree: ast.expr, dims: Mapping[str, Number]) -> Number:
    match tree:
        case ast.Name(id=name):
            return dims[name]
        case ast.Constant(value=bool() | int() | float() as value):
            return plain(value)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return combined(_OPERATORS[type(operator)], _number(left, dims), _number(right, dims))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return called(name, *(_number(a, dims) for a in arguments))
    text = ast.unparse(tree)
    with suppress(ExpressionError):
        return made(evaluate(text, {name: n.value for name, n in dims.items()}), text)
    raise NotFollowed(f"`{text}`")
