"""A draft of a workload from launches that were recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kernel_gate.dtypes import DTYPES as ELEMENTS
from kernel_lineage.kernels.naming import qualified_name
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.device_size import counts_multiprocessors, multiprocessors
from kernel_lineage.workloads.following.loops import is_in_loops
from kernel_lineage.workloads.following.roles import handed_on, roles_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.workspaces import workspaces
from kernel_lineage.workloads.model import (
    CHOSEN,
    CONSTANT,
    NULL,
    TABLED,
    UNRANGED,
    UNSHAPED,
    WHOLE_RANGES,
    ZEROS,
    Draft,
    DraftArgument,
    Structure,
)
from kernel_lineage.workloads.recording.fitting import factors
from kernel_lineage.workloads.recording.launches import Held, Launch, Range
from kernel_lineage.workloads.recording.own_numbers import with_own_numbers, with_row_ends
from kernel_lineage.workloads.recording.pieces import Piece, pieces_of
from kernel_lineage.workloads.recording.series import Fitted, Series, steadied
from kernel_lineage.workloads.row_offsets import row_offsets


@dataclass(slots=True)
class _Gathered:
    """What is found while a draft is written."""

    fit: Fitted
    row_starts: frozenset[str]
    """The buffers whose elements say where rows begin."""
    in_loops: bool = False
    """Whether the host code launches the kernel in loops alone."""
    texts: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def whole(self, quantity: Callable[[Launch], int | None]) -> str | None:
        text = self.fit.tried(quantity)
        if text is not None:
            self.texts.append(text)
        return text


def recorded_draft(kernel: Kernel, rooted: Kernel, path_name: str, unit: Unit, series: Series) -> Draft:
    """The draft of a kernel by its recorded launches; `rooted` has the functions of its headers.

    Raises `RecordingError` for more arguments than can be told in time.
    """
    series = replace(series, samples=_alike(series))
    pieces = pieces_of(kernel, [run for _, run in series.samples], unit)
    dtypes = _dtypes(pieces, series.first)
    series = with_row_ends(series, pieces, dtypes)
    series = with_own_numbers(series, pieces, _extents_of(pieces, dtypes, series))
    fit = steadied(series, _quantities(pieces, dtypes, series))
    facts = _Gathered(fit, row_offsets(rooted), is_in_loops(kernel.name, unit))
    grid, block = (_extents(getter, facts) for getter in (_grid, _block))
    shared = facts.whole(lambda run: run.shared_bytes) or str(series.first.shared_bytes)
    roles, unseen = roles_of(rooted), handed_on(rooted)
    arguments = tuple(
        replace(
            _argument(p, d, None if p.name in unseen else roles.get(p.name), series, facts),
            place=(p.argument, p.at) if p.part else None,
        )
        for p, d in zip(pieces, dtypes, strict=True)
    )
    arguments = tuple(_with_workspaces(kernel.name, arguments, pieces, unit, facts))
    first = series.first
    if max(first.cluster) > 1:
        facts.missing.append("the launch is in clusters, which a workload cannot say yet")
    whole = {p.argument for p in pieces if not p.part}
    structures = {
        n: Structure(len(a.data), a.alignment) for n, a in enumerate(first.arguments) if n not in whole
    }
    used = [n for text in facts.texts for n in WORD.findall(text)]
    order = [n for a in arguments for extent in a.shape or () for n in WORD.findall(extent)]
    names = [n for n in dict.fromkeys((*order, *used)) if n in series.sizes]
    dims = {n: multiprocessors() if counts_multiprocessors(n) else series.sizes[n] for n in names}
    notes = (
        f"recorded: {series.way} launches {kernel.name} so",
        *series.said,
        *(s for s in _notes(series, dims)),
        *facts.said,
    )
    return Draft(
        kernel.name,
        kernel.language,
        path_name,
        dims,
        dims,
        arguments,
        grid,
        block,
        shared,
        template_arguments=first.template,
        assumed=notes,
        missing=tuple(dict.fromkeys(facts.missing)),
        promises=tuple(p for p in series.promises if set(WORD.findall(p)) <= dims.keys()),
        way=series.way,
        entry=qualified_name(kernel),
        # A size that is a macro of the text is a number there, where the file's own launch is read.
        has_fields=bool(structures) or any(n in unit.macros for n in dims),
        structures=structures,
        unread_roles=frozenset(
            p.name for p in pieces if p.pointer and not p.const and (p.part or p.name in unseen)
        ),
        recorded=True,
    )


def _alike(series: Series) -> tuple[tuple[Mapping[str, int], Launch], ...]:
    """The samples whose arguments have the form of the first one's: what a program says of itself may be anything."""

    def form(run: Launch) -> list[tuple[str, int, int]]:
        return [(a.type, len(a.data), a.alignment) for a in run.arguments]

    return tuple(sample for sample in series.samples if form(sample[1]) == form(series.first))


def _notes(series: Series, dims: Mapping[str, int]) -> list[str]:
    where = CHOSEN if series.given else f" is {{}} in {series.way}"
    return [f"{n}{where.format(size)}" for n, size in dims.items() if not counts_multiprocessors(n)]


def _extents(of: Callable[[Launch], tuple[int, int, int]], facts: _Gathered) -> tuple[str, ...]:
    texts = [facts.whole(_axis(of, i)) or str(of(facts.fit.series.first)[i]) for i in range(3)]
    while len(texts) > 1 and texts[-1] == "1":
        texts.pop()
    return tuple(texts)


def _dtypes(pieces: tuple[Piece, ...], first: Launch) -> list[str | None]:
    """The types of all pieces; what a pointer to bytes points to is what its tensor holds."""
    dtypes = []
    for piece in pieces:
        held = piece.held(first) if piece.pointer else None
        target = held.dtype if held is not None and held.dtype in ELEMENTS else None
        dtypes.append(piece.dtype or target)
    return dtypes


def _quantities(
    pieces: tuple[Piece, ...], dtypes: list[str | None], series: Series
) -> list[Callable[[Launch], int | None]]:
    """All that has to be an expression."""
    return [
        *_extents_of(pieces, dtypes, series),
        *(_axis(_block, i) for i in range(3)),
        lambda run: run.shared_bytes,
        *(
            _number(piece)
            for piece, dtype in zip(pieces, dtypes, strict=True)
            if not piece.pointer and dtype is not None and not ELEMENTS[dtype].is_float
        ),
    ]


def _extents_of(
    pieces: tuple[Piece, ...], dtypes: list[str | None], series: Series
) -> list[Callable[[Launch], int | None]]:
    """The extents of the grid, and the elements of the buffers that have a shape of their own."""
    wanted: list[Callable[[Launch], int | None]] = [_axis(_grid, i) for i in range(3)]
    for piece, dtype in zip(pieces, dtypes, strict=True):
        held = piece.held(series.first) if piece.pointer else None
        if held is not None and held.buffer is not None and not _unshaped(held, series):
            wanted.append(_elements(piece, dtype))
    return wanted


def _grid(run: Launch) -> tuple[int, int, int]:
    return run.grid


def _block(run: Launch) -> tuple[int, int, int]:
    return run.block


def _axis(of: Callable[[Launch], tuple[int, int, int]], index: int) -> Callable[[Launch], int]:
    return lambda run: of(run)[index]


def _with_workspaces(
    kernel: str,
    arguments: tuple[DraftArgument, ...],
    pieces: Sequence[Piece],
    unit: Unit,
    facts: _Gathered,
) -> Iterator[DraftArgument]:
    """The arguments; a buffer that no launch of the kernel shares with other code is scratch."""
    written = [p.argument for a, p in zip(arguments, pieces, strict=True) if a.kind in ("output", "inout")]
    own = workspaces(kernel, written, unit)
    for argument, piece in zip(arguments, pieces, strict=True):
        if argument.kind == "inout" and piece.argument in own and not _goes_on(piece, facts):
            facts.said.append(f"{argument.name} is a workspace: nothing reads what a launch leaves there")
            argument = replace(argument, kind="scratch")
        yield argument


def _number(piece: Piece) -> Callable[[Launch], int]:
    return lambda run: int(piece.number(run))


def _elements(piece: Piece, dtype: str | None) -> Callable[[Launch], int | None]:
    width = ELEMENTS[dtype].itemsize if dtype is not None else 4

    def count(run: Launch) -> int | None:
        held = piece.held(run)
        return (held.size - held.offset) // width if held is not None and held.buffer is not None else None

    return count


def _unshaped(held: Held, series: Series) -> bool:
    """Whether a buffer's size is that of a tensor that was made for the call, and that no code asks for."""
    return series.given and held.name not in ("", *series.shaped)


def _argument(
    piece: Piece, dtype: str | None, read_role: str | None, series: Series, facts: _Gathered
) -> DraftArgument:
    if not piece.pointer:
        return _scalar(piece, dtype, series, facts)
    held = piece.held(series.first)
    name = piece.name
    if held is None or held.is_null:
        return DraftArgument(name, NULL, dtype or "uint8")
    if piece.of_addresses:
        facts.missing.append(f"{name}{TABLED}")
        return DraftArgument(name, "input", dtype or "uint64")
    if held.buffer is None:
        facts.missing.append(f"{UNSHAPED}{name}: at the launch it points into no buffer")
    if dtype is None:
        dtype = "float32"
        facts.said.append(f"{name} is taken to point to {dtype}: nothing tells the dtype of {name}")
    role = read_role or ("input" if piece.const else "inout")
    shape: tuple[str, ...] | None = None
    if held.buffer is not None and not _unshaped(held, series):
        shape = _tensor_shape(piece, held, facts)
        text = facts.whole(_elements(piece, dtype)) if shape is None else None
        shape = factors(text) if text is not None else shape
    if shape is None and held.buffer is not None:
        facts.missing.append(f"{UNSHAPED}{name}: it was made for the call that was recorded")
    values = ""
    if role != "output":
        values = _values(piece, dtype, held, role, facts)
    return DraftArgument(name, role, dtype, shape, values)


def _tensor_shape(piece: Piece, held: Held, facts: _Gathered) -> tuple[str, ...] | None:
    """The extents of a whole tensor, each an expression; None where a pointer is into no tensor, or one is none."""
    rank = len(held.shape)
    if rank < 2 or held.offset or math.prod(held.shape) * _bytes_of(held) != held.size:
        return None

    def extent(axis: int, run: Launch) -> int | None:
        other = piece.held(run)
        return other.shape[axis] if other is not None and len(other.shape) == rank else None

    texts = [facts.fit.tried(partial(extent, axis)) for axis in range(rank)]
    shape = tuple(text for text in texts if text is not None and text != "1")
    if None in texts or not shape:
        return None
    facts.texts += shape
    return shape


def _bytes_of(held: Held) -> int:
    return ELEMENTS[held.dtype].itemsize if held.dtype in ELEMENTS else 0


def _values(piece: Piece, dtype: str, held: Held, role: str, facts: _Gathered) -> str:
    if held.how == "cleared" and role == "inout" and ELEMENTS[dtype].is_float and _goes_on(piece, facts):
        facts.said.append(
            f"{piece.name} goes on from round to round of a loop, before which alone it is cleared"
        )
        return ""
    if held.how == "cleared" and role != "input":
        facts.said.append(f"{piece.name} is cleared before the launch")
        return ZEROS
    elements = held.range_as(dtype) if held.how == "data" and not held.dtype else None
    if ELEMENTS[dtype].is_float:
        return "positive" if elements is not None and elements.low > 0 else ""
    # Zeros that are only read are what nobody filled in here, such as a file that is not there.
    if elements is not None and (role != "input" or elements.low != elements.high or elements.low):
        return _range(piece, dtype, facts)
    if dtype in WHOLE_RANGES:
        return WHOLE_RANGES[dtype]
    # A tensor that the call was given holds something, whatever the kernel does with it.
    if role == "input" or (facts.fit.series.given and held.name and piece.part):
        facts.missing.append(f"{UNRANGED}{piece.name}")
        return ""
    return "integers(0, 8)"


def _goes_on(piece: Piece, facts: _Gathered) -> bool:
    """Whether launches in a loop find what the one before them has left in a buffer."""
    again = [held for run in facts.fit.series.beside if (held := piece.held(run)) is not None]
    return facts.in_loops and bool(again) and all(held.how == "kernel" for held in again)


def _range(piece: Piece, dtype: str, facts: _Gathered) -> str:
    """The range of the numbers that the host put there."""

    def elements(run: Launch) -> Range | None:
        held = piece.held(run)
        return held.range_as(dtype) if held is not None else None

    runs = [(d, run, numbers) for d, run in facts.fit.samples if (numbers := elements(run)) is not None]
    low = min(int(numbers.low) for _, _, numbers in runs)
    above = [(d, int(numbers.high) + 1) for d, _, numbers in runs]
    count = _elements(piece, dtype)
    # Numbers that are each their own place begin rows of one element.
    own_places = piece.name in facts.row_starts
    ascends = low == 0 and all(
        numbers.ascends or (own_places and count(run) == numbers.high + 1) for _, run, numbers in runs
    )
    if all(a == above[0][1] for _, a in above) and not ascends:
        return f"integers({low}, {above[0][1]})"

    def highest(more: int) -> str | None:
        def end(run: Launch) -> int | None:
            numbers = elements(run)
            return int(numbers.high) + more if numbers is not None else None

        text = facts.fit.tried(end)
        # What a workload has between the brackets takes no function.
        return text if text is not None and "," not in text else None

    last, after = highest(0), highest(1)
    if ascends:
        last = last or str(min(a for _, a in above) - 1)
        facts.texts.append(last)
        what = "it says where rows begin" if piece.name in facts.row_starts else "as the host fills it"
        facts.said.append(f"{piece.name} ascends from 0 to {last}: {what}")
        return f"offsets({last})"
    text = min((t for t in (after, f"{last} + 1" if last else None) if t), key=len, default=None)
    if text is None:
        near = (n for n in above[0][0] if all(d[n] // 2 < a <= d[n] for d, a in above))
        text = next(near, str(min(a for _, a in above)))
    facts.texts.append(text)
    return f"integers({low}, {text})"


def _scalar(piece: Piece, dtype: str | None, series: Series, facts: _Gathered) -> DraftArgument:
    if dtype is None:
        facts.missing.append(f"the dtype of {piece.name}: nothing tells what it is")
        return DraftArgument(piece.name, "scalar", dtype)
    if ELEMENTS[dtype].is_float:
        return DraftArgument(piece.name, "scalar", dtype, value=_real(piece, facts))
    text = facts.whole(_number(piece))
    if piece.nameless and (text is None or text.isdigit()):
        if text is None:
            facts.said.append(f"{piece.name} is taken to be 0: it was something else in each run")
        return DraftArgument(piece.name, CONSTANT, dtype, value=text or "0")
    return DraftArgument(
        piece.name, "scalar", dtype, value=text if text is not None else str(int(piece.number(series.first)))
    )


def _real(piece: Piece, facts: _Gathered) -> str:
    """A real number: a constant, or one over a size, or a multiple of a size."""
    seen = [(d, float(piece.number(run))) for d, run in facts.fit.samples]
    first = seen[0][1]
    if not math.isfinite(first):
        facts.said.append(
            f"{piece.name} follows from what kernels compute, and none is run; it is taken to be 1"
        )
        return "1.0"
    if all(value == first for _, value in seen):
        return repr(first)
    for name in seen[0][0]:
        for written, power in ((f"{{}} / {name}", 1), (f"{{}} * {name}", -1)):
            factors_seen = [value * float(sizes[name]) ** power for sizes, value in seen]
            factor = factors_seen[0]
            if factor and all(abs(other - factor) <= 1e-5 * abs(factor) for other in factors_seen):
                facts.texts.append(name)
                return written.format(repr(round(factor, 6)))
    facts.said.append(f"{piece.name} changes with the sizes; it is taken to be {first!r} as it was recorded")
    return repr(first)
