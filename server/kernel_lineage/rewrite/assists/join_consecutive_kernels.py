"""Let one kernel do the work of two that are launched one right behind the other, for each thread's own element.

Before: `scale<<<blocks, 256>>>(x, y, a, n); relu<<<blocks, 256>>>(y, z, n);`, where thread `i` of `scale` writes `y[i]`
and thread `i` of `relu` reads it.
After: `scale_relu<<<blocks, 256>>>(x, z, a, n);`, with `float y = a * x[i];` in a register.

The reader shows that no thread touches what another thread of the other kernel has written, or is to overwrite. A
buffer that nothing else reads goes; one that is read elsewhere is still written. As many kernels of a row are joined as
can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import Num, Term, Var
from kernel_lineage.code.cuda.read import open_setting, read_cuda
from kernel_lineage.code.model import Access, UnreadableError
from kernel_lineage.code.setting import LaunchSetting, Setting
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.edits import Edit, edited
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.kernels.words import WORD
from kernel_lineage.proofs.obligations.asking import Questions
from kernel_lineage.proofs.obligations.obligation import Status
from kernel_lineage.proofs.obligations.written_once import told_apart
from kernel_lineage.rewrite.assists.in_turn import joined_in_turn
from kernel_lineage.rewrite.assists.joined_bodies import joined, name_of, work_of_thread
from kernel_lineage.rewrite.assists.kept_values import Buffers, kept_values
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    descendants,
    newline_of,
    replace_between,
    source_of,
    start_of_line,
    taken_name,
)
from kernel_lineage.rewrite.assists.model import Assist, MayOverlap, Refusal
from kernel_lineage.rewrite.assists.turns import Turn, turn_of
from kernel_lineage.rewrite.candidate import Candidate

_LIMIT_MS = 2000
_DISPATCHED = "scalar_t"
"""What torch's dispatch calls the type that it goes through."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    return joined_in_turn(ASSIST, kernel, _with_next, "thread")


def _with_next(kernel: Kernel) -> tuple[Kernel, Turn]:
    """The kernel that does the work of a kernel and of the one that is launched right behind it. Raises `Refusal`."""
    turn = turn_of(kernel)
    first, then = work_of_thread(turn.first), work_of_thread(turn.then)
    handed_over = (turn.launches[0].arguments, turn.launches[1].arguments)
    passed: list[tuple[Parameter, str]] = []
    for part, arguments in zip((turn.first, turn.then), handed_over, strict=True):
        if len(part.parameters) != len(arguments):
            raise Refusal(f"the launch of {part.name} does not tell all arguments")
        passed += zip(part.parameters, arguments, strict=True)
    bases = {argument: turn.base(argument) for parameter, argument in passed if parameter.pointer}
    one = joined(first, then, handed_over, bases)
    name = f"fused_{turn.first.name.removeprefix('fused_')}_{turn.then.name}"
    name = taken_name(name, set(WORD.findall(data_of(kernel).decode())))
    lines, behind = one.text(name, {})
    plain = _placed(turn, one.arguments, lines, name)
    own = {name_of(p): bases[a] for p, a in zip(one.parameters, one.arguments, strict=True) if a in bases}
    buffers = Buffers(turn, one, own)
    _check_threads(buffers, plain, plain.span.first_line + behind)
    kept = kept_values(buffers)
    if not kept.changes:
        return plain, turn
    lines, _ = one.text(name, kept.changes, kept.left_out)
    needed = [
        a for p, a in zip(one.parameters, one.arguments, strict=True) if name_of(p) not in kept.left_out
    ]
    return _placed(turn, needed, lines, name, [own[parameter] for parameter in kept.left_out]), turn


def _placed(
    turn: Turn, arguments: Sequence[str], lines: Sequence[str], name: str, unused: Sequence[str] = ()
) -> Kernel:
    """The joined kernel in its file. The kernels that it takes the place of go where nothing else names them; so do the
    host's `unused` buffers.
    """
    source, data = source_of(turn.first), data_of(turn.first)
    newline = newline_of(data)
    edit = partial(replace_between, turn.first)
    one, last = sorted((turn.first, turn.then), key=lambda k: k.span.start)
    text = newline.join(lines)
    edits = [] if _is_used(turn, one) else [_without(turn.first, one.span.start, one.span.end, blank=True)]
    if _is_used(turn, last):
        edits.append(edit(last.span.end, last.span.end, 2 * newline + text))
    else:
        edits.append(edit(last.span.start, last.span.end, text))
    launched, span = turn.statements[0], turn.launches[1].span
    edits.append(_without(turn.first, launched.start_byte, launched.end_byte))
    call = source.text(span)
    callee = call[: call.index("<<<")].replace(turn.then.name, name, 1)
    shape = call[call.index("<<<") : call.index(">>>") + 3]
    edits.append(edit(span.start, span.end, f"{callee}{shape}({', '.join(arguments)})"))
    for node, left in turn.upkeep(unused):
        start, end = node.start_byte, node.end_byte
        edits.append(edit(start, end, left) if left else _without(turn.first, start, end))
    again = read(edited(data, edits), source.language).kernel(name)
    if again is None or again.node is None or again.node.has_error:
        raise Refusal(f"{turn.first.name} and {turn.then.name} cannot be read as one kernel")
    return again


def _is_used(turn: Turn, kernel: Kernel) -> bool:
    """Whether anything but its definition and its launch in the turn names a kernel."""
    root = source_of(kernel).root
    places = (
        [
            n
            for n in descendants(root)
            if n.type in ("identifier", "type_identifier") and text_of(n) == kernel.name
        ]
        if root is not None
        else []
    )
    return any(
        not (kernel.span.start <= n.start_byte < kernel.span.end)
        and not any(contains(s, n) for s in turn.statements)
        for n in places
    )


def _without(kernel: Kernel, start: int, end: int, *, blank: bool = False) -> Edit:
    """An edit that takes out statements with their lines, and the blank lines behind them."""
    data = data_of(kernel)
    behind = data.find(b"\n", end)
    if begins_line(data, start) and behind >= 0 and not data[end:behind].strip():
        start, end = start_of_line(data, start), behind + 1
        while blank and (behind := data.find(b"\n", end)) >= 0 and not data[end:behind].strip():
            end = behind + 1
    return replace_between(kernel, start, end, "")


def _setting(kernel: Kernel, turn: Turn) -> Setting:
    """The open setting of a kernel with as many axes of threads and blocks as the launch has."""

    def axes(what: str, extents: tuple[str, ...]) -> tuple[Term, Term, Term]:
        x, y, z = (Var(f"{what}.{a}") if n < len(extents) else Num(1) for n, a in enumerate("xyz"))
        return x, y, z

    launch = turn.launches[0]
    # What a dispatch puts in the place of a type has some size, and the same one everywhere.
    names = {_DISPATCHED, *(p.name for p in kernel.template_parameters)}
    types = tuple("float" if a in names else a for a in launch.template_arguments)
    return replace(
        open_setting(kernel, types),
        launch=LaunchSetting(axes("gridDim", launch.grid), axes("blockDim", launch.block)),
    )


def _check_threads(buffers: Buffers, plain: Kernel, behind: int) -> None:
    """Refuse kernels of which a thread of one touches what another thread of the other writes.

    `plain` is the joined kernel with everything in memory; the second one's work begins in line `behind`.
    """
    turn = buffers.turn
    setting = _setting(plain, turn)
    try:
        model = read_cuda(plain, setting, {})
    except (UnreadableError, RecursionError) as error:
        raise Refusal(f"{plain.name} cannot be read: {error}") from error
    if model.problems:
        raise Refusal(f"{plain.name} may touch memory that is not seen: {model.problems[0][1]}")
    accesses = [a for a in model.accesses if a.space == "global"]
    firsts, thens = ([a for a in accesses if (_line(a) < behind) is early] for early in (True, False))
    if buffers.one.first.loop is not None:
        # A thread's elements are taken one after the other by both kernels in turn: its rounds are like threads.
        rounds = {a.loops[:1] for a in accesses}
        if len(rounds) != 1 or () in rounds:
            raise Refusal(f"which of its elements a thread of {plain.name} is at is not known")
        model.places |= {name: Var(name) for name in rounds.pop()}
    questions = Questions(model, setting, _LIMIT_MS)
    seen: set[object] = set()
    for a, b in ((a, b) for a in firsts for b in thens if a.writes or b.writes):
        apart = a.root != b.root and not buffers.may_be_one(a.root, b.root)
        if apart or (a.root != b.root and not _is_first_there(a, b, firsts, thens)):
            continue
        if a.root == b.root and a.writes and b.via == "__ldg":
            raise Refusal(
                f"`{b.text}` may read what lay there before the kernel began, which writes there itself"
            )
        kind = Refusal if a.root == b.root else MayOverlap
        for access in (a, b):
            if access.offset is None or not access.nbytes:
                raise kind(
                    f"where `{access.text}` lies is not known: {access.reason or 'its size is not told'}"
                )
        key = (a.offset, a.nbytes, a.path, b.offset, b.nbytes, b.path)
        if key not in seen and told_apart(questions, a, b).status is not Status.PROVED:
            also = "" if a.root == b.root else ", where both are one buffer"
            raise kind(
                f"a thread of {turn.then.name} may touch by `{b.text}` what another thread of {turn.first.name} "
                f"touches by `{a.text}`{also}"
            )
        seen.add(key)


def _is_first_there(a: Access, b: Access, firsts: Sequence[Access], thens: Sequence[Access]) -> bool:
    """Whether only the two kernels together touch by two threads what two accesses touch, if their buffers are one.

    Where one of the kernels makes both accesses, its own threads would have raced there, and nothing relies on that.
    """
    return not (
        any((other.writes or a.writes) and _comes_with(other, b) for other in firsts)
        or any((other.writes or b.writes) and _comes_with(other, a) for other in thens)
    )


def _comes_with(other: Access, access: Access) -> bool:
    """Whether a thread that makes an access makes another one at the same place."""
    return (
        other.root == access.root
        and other.nbytes == access.nbytes
        and other.offset is not None
        and access.offset is not None
        and polynomial(other.offset) == polynomial(access.offset)
        and set(other.path) <= set(access.path)
    )


def _line(access: Access) -> int:
    """The line of the kernel itself that an access is made from."""
    return access.calls[0] if access.calls else access.line


ASSIST = Assist(
    title="Join kernels that are launched in turn",
    skill="joined-kernels",
    pattern="launched_in_turn",
    make=_rewrite,
)
