"""What host code asks of its caller on the way to a launch.

A check that raises, or an assertion, is kept by every caller: it becomes a promise. Where the caller is not known, the
chosen sizes are changed so that they keep it, and a dtype that is asked for is the tensor's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kernel_lineage.workloads.promises import broken, fitted_sizes, says_nothing
from kernel_lineage.workloads.triton.objects import Frame
from kernel_lineage.workloads.triton.values import Dtype, Size, Tensor, text_of, tree_of, value_at

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader


def keep(frame: Frame, test: ast.expr, holds: bool) -> None:
    """Take a condition to hold, or not to."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            keep(frame, operand, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) == holds:
            for value in values:
                keep(frame, value, holds)
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id=name), attr="dtype"), ops=[op], comparators=[other]
        ):
            if (
                frame.reader.chooses
                and isinstance(op, ast.Eq) == holds
                and isinstance(op, (ast.Eq, ast.NotEq))
            ):
                _typed(frame, name, frame.evaluate(other))
        case _:
            asked = frame.evaluate(test)
            for promise in _parts(tree_of(asked), holds) if isinstance(asked, Size) else ():
                promised(frame.reader, promise)


def _parts(test: ast.expr, holds: bool) -> Iterator[str]:
    """The conditions that all hold where `test` does, or where it does not: each is mended for itself."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _parts(operand, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) == holds:
            for value in values:
                yield from _parts(value, holds)
        case _:
            yield ast.unparse(test) if holds else f"not ({ast.unparse(test)})"


def _typed(frame: Frame, name: str, dtype: object) -> None:
    tensor = frame.reader.opened(frame.names.get(name), "shape")
    if isinstance(tensor, Tensor) and isinstance(dtype, Dtype):
        frame.names[name] = replace(tensor, dtype=dtype.name)
        frame.reader.typed.add(tensor.name)


def promised(reader: Reader, promise: str) -> None:
    """A promise that some sizes keep; one that none is found for says more than is understood."""
    if says_nothing(promise):
        return
    whole = {name: size for name, size in reader.sizes.items() if isinstance(size, int)}
    if promise in reader.promises or (not reader.chooses and broken(whole, (promise,))):
        return
    promises = (*reader.promises, promise)
    sizes = fitted_sizes(whole, promises)
    if not broken(sizes, promises):
        reader.sizes.update(sizes)
        reader.promises.append(promise)


def takes_rounds(reader: Reader, ends: Sequence[object], most: int) -> bool:
    """Take a `range` over sizes to have as many rounds as it has at the reader's sizes; False where these are more than
    `most`, or nothing tells how many.
    """
    values = [value_at(end, reader.sizes) for end in ends]
    whole = [int(value) for value in values if value is not None]
    if len(whole) < len(ends) or 0 in whole[2:] or len(range(*whole)) > most:
        return False
    for end, value in zip(ends, whole, strict=True):
        if isinstance(end, Size):
            promised(reader, f"{text_of(end)} == {value}")
    return True
