"""Sizes at which a kernel leaves its buffers, and what its callers keep at which it does not.

Rows may be further apart than they are long, and nothing but the callers' numbers says so: `ld` is 1024, `N` is 1000.
A Triton kernel may count on a size that its host code never names: its test's own size of such a dim is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kernel_gate.deadline import seconds_left
from kernel_gate.emulated.launch import Limits
from kernel_gate.expressions import ExpressionError
from kernel_gate.footprint import FootprintError, footprints
from kernel_gate.shapes import elements
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.cuda_forms import inside
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.workloads.checked_sizes import CHECKED_ELEMENTS, CHECKED_WITH, with_checked_sizes
from kernel_lineage.workloads.files import Launcher, Target, data_of
from kernel_lineage.workloads.index_ranges import stays_in_bounds
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.promises import broken, fitted_sizes
from kernel_lineage.workloads.row_pitches import compared_with_nothing

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
_LONG = 512
_MOST_STEPS = 160
"""Basic blocks of a wave: a check runs some hundred launches, each of which is to take a tenth of a second."""
_LONGEST_LAUNCH = 2.0
"""Seconds: no check of some hundred launches comes to its end where one takes longer."""
_FEWEST_ELEMENTS = 1 << 11
_SECONDS = 10.0
"""What a draft has to have left for being run once more."""
_MOST_ELEMENTS = 1 << 19
_MOST_TRIED = 6
_SMALLER = 4


def with_pitches(draft: Draft, kernel: Kernel, path: Path, root: Path) -> Draft | None:
    """The draft with the promise `ld >= N` of dims for which every caller keeps it: the kernel leaves its buffers at
    sizes that do not.

    A pitch is a dim that the kernel compares with nothing. The kernel is run on the emulated device. None where no
    promise helps.
    """
    if draft.missing:
        return None
    pitches = compared_with_nothing(draft.arguments, draft.dims, kernel)
    pairs = [(a, b) for a in pitches for b in draft.dims if a != b and _kept_by_callers(draft, a, b)]
    where = kernel, path, root
    before = tuple(note.split(CHECKED_WITH)[0] for note in draft.assumed)
    for pitch, length in pairs[:_MOST_TRIED]:
        promises = (*draft.promises, promise := f"{pitch} >= {length}")
        if not _is_needed(
            draft, pitch, length, promises, lambda sizes: stays_in_bounds(draft, sizes, *where)
        ):
            continue
        tried = with_checked_sizes(replace(draft, promises=promises, assumed=before))
        if stays_in_bounds(tried, tried.checked, *where):
            note = f"{promise}: else the kernel leaves its buffers, and every caller keeps it"
            return replace(tried, assumed=(*tried.assumed, note))
    return None


def with_whole_quotients(draft: Draft, kernel: Kernel, path: Path, root: Path) -> Draft:
    """The draft with the promise `heads % groups == 0` of dims for which every caller keeps it, and one of which the
    kernel divides by the other: the kernel leaves its buffers at sizes that do not.

    It is run on the emulated device, in place of the gate's hidden shapes, which leave out only where it faults.
    """
    if draft.missing:
        return draft
    for whole, divisor in draft.divided:
        if not {whole, divisor} <= draft.dims.keys() or not _divides_for_callers(draft, whole, divisor):
            continue
        promise = f"{whole} % {divisor} == 0"
        sizes = fitted_sizes({**draft.checked, whole: draft.checked[whole] + 1}, draft.promises, (divisor,))
        is_other = broken(sizes, (*draft.promises, promise)) == (promise,)
        if is_other and _leaves_buffers(draft, sizes, kernel, path, root):
            note = f"{promise}: else the kernel leaves its buffers, and every caller keeps it"
            draft = replace(draft, promises=(*draft.promises, promise), assumed=(*draft.assumed, note))
    return draft


def _divides_for_callers(draft: Draft, whole: str, divisor: str) -> bool:
    """Whether callers give numbers for both, of which one always goes into the other, and not only 1."""
    is_chosen = {whole, divisor} & {*draft.chosen, *draft.untold}
    sizes = (draft.dims, draft.checked, *draft.timed)
    return not is_chosen and all(s[divisor] > 1 and s[whole] % s[divisor] == 0 for s in sizes)


def _leaves_buffers(draft: Draft, sizes: Mapping[str, int], kernel: Kernel, path: Path, root: Path) -> bool:
    """Whether a kernel stays in its buffers at the checked sizes, and not at others."""
    return not stays_in_bounds(draft, sizes, kernel, path, root) and stays_in_bounds(
        draft, draft.checked, kernel, path, root
    )


def _is_needed(
    draft: Draft,
    pitch: str,
    length: str,
    promises: tuple[str, ...],
    runs: Callable[[Mapping[str, int]], bool],
) -> bool:
    """Whether a kernel runs with rows as long as their pitch, and not with longer ones; `promises` end with this."""
    size = draft.checked[length]

    def fitted(wanted: int, kept: tuple[str, ...]) -> Mapping[str, int]:
        return fitted_sizes({**draft.checked, pitch: wanted}, kept, fixed=(length,))

    narrow = (fitted(max(1, less), draft.promises) for less in (size - 1, size * 3 // 4, size // 2))
    longer = next((sizes for sizes in narrow if broken(sizes, promises) == promises[-1:]), None)
    return longer is not None and not runs(longer) and runs(fitted(size, promises))


def _kept_by_callers(draft: Draft, pitch: str, length: str) -> bool:
    """Whether all callers give numbers for both, in this order."""
    is_chosen = {pitch, length} & {*draft.chosen, *draft.untold}
    return not is_chosen and all(sizes[pitch] >= sizes[length] for sizes in draft.timed)


def with_sizes_that_run(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft | None:
    """The draft with dims that keep the size that callers give them: the kernel leaves its buffers at the checked one.

    The kernel is run on the emulated device: with one dim at its callers' size, with all, then with one that is
    smaller still, such as where a part begins. None where it stays in its buffers as it is, and where no such size is
    found.
    """
    if draft.missing or stays_in_bounds(draft, draft.checked, kernel, path, root):
        return None
    for names in _likely(draft):
        sizes = {**draft.checked, **{n: draft.dims[n] for n in names}}
        only = tuple(f"{n} == {draft.dims[n]}" for n in names)
        tried = replace(draft, checked=sizes, promises=(*draft.promises, *only))
        if _is_small(tried) and stays_in_bounds(tried, sizes, kernel, path, root):
            note = f"{' and '.join(only)}: at smaller sizes the kernel leaves its buffers"
            return replace(tried, assumed=(*draft.assumed, note))
    for name, size in draft.checked.items():
        tried = replace(draft, checked={**draft.checked, name: max(1, size // _SMALLER)})
        if _is_small(tried) and stays_in_bounds(tried, tried.checked, kernel, path, root):
            note = f"{name} is checked with {tried.checked[name]}: at {size} the kernel leaves its buffers"
            return replace(tried, assumed=(*draft.assumed, note))
    return None


def with_few_steps(draft: Draft, kernel: Target, path: Path, root: Path) -> Draft:
    """The draft with checked sizes: smaller ones where the kernel takes many steps at those that its elements say.

    A kernel whose work grows with the square of its elements takes a hundred times as long as another one of as many.
    Where it does so along an axis that the grid tiles, less than two tiles of it may be left.
    """
    checked = with_checked_sizes(draft)
    if checked.missing or isinstance(kernel, Launcher) or kernel.language is not Language.CUDA:
        return checked
    if not _may_take_many(checked, kernel):
        return checked
    most = CHECKED_ELEMENTS // 2
    while (
        most >= _FEWEST_ELEMENTS
        and _is_much_work(checked, kernel, path, root, steps=_MOST_STEPS)
        and seconds_left() > _SECONDS
    ):
        checked = with_checked_sizes(draft, most)
        most //= 2
    return _within_a_tile(draft, checked, kernel, path, root)


def _within_a_tile(draft: Draft, checked: Draft, kernel: Kernel, path: Path, root: Path) -> Draft:
    """Checked sizes of less than two tiles where with two of them a launch takes too long to be checked at all: each
    thread goes through what the grid tiles.
    """
    smaller = with_checked_sizes(draft, by_tiles=False)
    if all(size >= checked.checked[n] for n, size in smaller.checked.items()) or seconds_left() < _SECONDS:
        return checked
    is_long = _is_much_work(checked, kernel, path, root, seconds=_LONGEST_LAUNCH)
    return smaller if is_long else checked


def _may_take_many(draft: Draft, kernel: Kernel) -> bool:
    """Whether a thread may go through many rounds: those of a loop over a long extent, or of a loop in a loop."""
    if kernel.source is None or kernel.source.root is None:
        return False
    own = kernel.span
    loops = [
        n for n in inside(kernel.source.root) if n.type in _LOOPS and own.start <= n.start_byte < own.end
    ]
    is_nested = any(b.start_byte < a.start_byte < b.end_byte for a in loops for b in loops)
    return is_nested or (bool(loops) and max(draft.checked.values(), default=0) > _LONG)


def _is_much_work(
    draft: Draft,
    kernel: Kernel,
    path: Path,
    root: Path,
    *,
    steps: int = Limits().steps,
    seconds: float = 10.0,
) -> bool:
    """Whether a launch at the checked sizes does not end within these steps, and these seconds."""
    try:
        workload = draft.workload()
        program = program_from_file(path, kernel.name, workload, data=data_of(kernel), root=root)
        list(footprints(program, workload, [dict(draft.checked)], steps=steps, seconds=seconds))
    except FootprintError as error:
        return error.of_work
    except (ProgramError, WorkloadError):
        pass
    return False


def _likely(draft: Draft) -> Iterator[tuple[str, ...]]:
    """The dims to keep at their callers' size: one, those that cost least first, then all."""
    moved = [n for n in draft.dims if draft.checked[n] != draft.dims[n]]
    moved.sort(key=lambda n: draft.dims[n] / draft.checked[n])
    yield from ((n,) for n in moved[:_MOST_TRIED])
    if len(moved) > 1:
        yield tuple(moved)


def _is_small(draft: Draft) -> bool:
    try:
        workload = draft.workload()
        return workload.keeps_promises(draft.checked) and elements(workload, draft.checked) <= _MOST_ELEMENTS
    except (ExpressionError, WorkloadError):
        return False
