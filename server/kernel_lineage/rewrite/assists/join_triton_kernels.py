"""Let one Triton kernel do the work of two that are launched one right behind the other, for each program's own block.

Before: `scale[grid](x, y, a, n, BLOCK=1024)` and `relu[grid](y, z, n, BLOCK=1024)`, where a program of `scale` stores
the block of `y` that the same program of `relu` loads.
After: `fused_scale_relu[grid](x, z, a, n, BLOCK=1024)`, with `y = (a * x).to(x_ptr.dtype.element_ty)` in registers.

The reader shows that a program loads nothing that another one has stored, and stores nothing that another one may still
load. A value is rounded to the type that it had in memory, and what a mask leaves out is what the load said of it. A
buffer that nothing else reads goes; one that is read elsewhere is still written. As many kernels of a row are joined as
can be.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from kernel_gate.expr.polynomials import polynomial
from kernel_lineage.code.model import Access
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.edits import Edit, edited
from kernel_lineage.kernels.python_text import module_lines, names_in_order
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.in_turn import joined_in_turn
from kernel_lineage.rewrite.assists.joined_programs import JoinedPrograms, body_of, joined_programs
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    margin_at,
    newline_of,
    replace_between,
    source_of,
    start_of_line,
    taken_name,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_places import called, function_of, span_of, stored_names
from kernel_lineage.rewrite.assists.triton_tiles import model_of
from kernel_lineage.rewrite.assists.triton_turns import TritonTurn, triton_turn_of
from kernel_lineage.rewrite.candidate import Candidate


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    return joined_in_turn(ASSIST, kernel, _with_next, "program")


def _with_next(kernel: Kernel) -> tuple[Kernel, TritonTurn]:
    """The kernel that does the work of a kernel and of the one that is launched right behind it. Raises `Refusal`."""
    turn = triton_turn_of(kernel)
    name = f"fused_{turn.first.name.removeprefix('fused_')}_{turn.then.name}"
    one = joined_programs(turn, taken_name(name, set(WORD.findall(data_of(kernel).decode()))))
    plain = _placed(turn, one)
    return _kept(turn, one, plain), turn


def _placed(turn: TritonTurn, one: JoinedPrograms) -> Kernel:
    """The joined kernel with everything in memory, in its file. The kernels that it takes the place of go where nothing
    else names them.
    """
    data, newline = data_of(turn.first), newline_of(data_of(turn.first))
    edit = partial(replace_between, turn.first)
    low, last = sorted((turn.first, turn.then), key=lambda k: k.span.start)
    text = newline.join(one.text().rstrip("\n").split("\n"))
    edits = [] if _is_used(turn, low) else [_without(turn.first, low.span.start, low.span.end, blank=True)]
    behind = 3 * newline + text
    edits.append(
        edit(last.span.end, last.span.end, behind)
        if _is_used(turn, last)
        else edit(last.span.start, last.span.end, text)
    )
    edits.append(_without(turn.first, *turn.module.range(turn.statements[0])))
    edits.append(edit(*turn.module.range(turn.calls[1]), one.launch()))
    return _read(turn, edited(data, edits), one.name)


def _read(turn: TritonTurn, text: bytes, name: str) -> Kernel:
    again = read(text, source_of(turn.first).language).kernel(name)
    if again is None or again.function is None:
        raise Refusal(f"{turn.first.name} and {turn.then.name} cannot be read as one kernel")
    return again


def _is_used(turn: TritonTurn, kernel: Kernel) -> bool:
    """Whether anything but its definition and its launch in the turn names a kernel."""
    tree = source_of(kernel).module
    function = function_of(kernel)
    inside = {id(n) for part in (function, *turn.statements) for n in ast.walk(part)}
    names = (n for n in (ast.walk(tree) if tree is not None else ()) if id(n) not in inside)
    return any(
        (isinstance(n, ast.Name) and n.id == kernel.name)
        or (isinstance(n, ast.Attribute) and n.attr == kernel.name)
        or (isinstance(n, ast.Constant) and n.value == kernel.name)
        for n in names
    )


def _without(kernel: Kernel, start: int, end: int, *, blank: bool = False) -> Edit:
    """An edit that takes out statements with their lines, and the blank lines behind them."""
    data = data_of(kernel)
    start, behind = start_of_line(data, start), data.find(b"\n", end)
    end = behind + 1 if behind >= 0 else len(data)
    while blank and (behind := data.find(b"\n", end)) >= 0 and not data[end:behind].strip():
        end = behind + 1
    return replace_between(kernel, start, end, "")


@dataclass(frozen=True, slots=True)
class _Handed:
    """A block that the first kernel stores, and the loads of the other one that take it."""

    statement: ast.Expr
    store: ast.Call
    root: str
    loads: tuple[ast.Call, ...]
    is_overwritten: bool
    """The other kernel stores another block there."""


def _kept(turn: TritonTurn, one: JoinedPrograms, plain: Kernel) -> Kernel:
    """The joined kernel with what the first one hands over in registers. Refused where a program of one kernel touches
    what another program of the other one stores.
    """
    function = function_of(plain)
    arguments = {p.name: p.argument for p in one.parameters if p.pointer}
    pointers = {a: name for name, a in arguments.items()}
    names = set(WORD.findall(data_of(plain).decode()))
    edits: list[Edit] = []
    left_out: set[str] = set()
    for handed in _handed_over(turn, one, plain, arguments):
        value = _parts(handed.store)[1]
        buffer = arguments[handed.root]
        kind, gone = turn.host.type_of(buffer, pointers), False
        uses = names_in_order(function).count(handed.root)
        moves = [s for s in body_of(function) if _only_moves(s, handed.root)]
        own_uses = 1 + len(handed.loads) + sum(names_in_order(s).count(handed.root) for s in moves)
        if kind and turn.is_between(buffer) and not handed.is_overwritten and uses == own_uses:
            gone = True
            left_out.add(handed.root)
            edits += [_without(plain, span_of(plain, s).start, span_of(plain, s).end) for s in moves]
        if value is None or isinstance(value, ast.Constant):
            raise Refusal(f"`{ast.unparse(handed.store)}` stores a number that has no shape of its own")
        alias = next((s for load in handed.loads if (s := _declared_by(plain, load)) is not None), None)
        bare = handed.root.removesuffix("_ptr")
        name = (
            stored_names(alias)[0]
            if alias is not None
            else taken_name(bare if gone else f"{bare}_value", names)
        )
        kind = kind if gone else f"{handed.root}.dtype.element_ty"
        span = span_of(plain, handed.statement)
        whole = isinstance(value, ast.Name | ast.Call | ast.Attribute)
        text = f"{name} = {ast.unparse(value) if whole else f'({ast.unparse(value)})'}.to({kind})"
        if gone or handed.is_overwritten:
            edits.append(replace_between(plain, span.start, span.end, text))
        else:
            margin, at = margin_at(data_of(plain), span.start), span_of(plain, value)
            edits.append(replace_between(plain, span.start, span.start, f"{text}\n{margin}"))
            edits.append(replace_between(plain, at.start, at.end, name))
        for load in handed.loads:
            if alias is not None and load is alias.value:
                edits.append(_without(plain, span_of(plain, alias).start, span_of(plain, alias).end))
                continue
            _, other, where = _parts(load)
            taken = (
                f"tl.where({ast.unparse(where)}, {name}, {ast.unparse(other)})" if where and other else name
            )
            at = span_of(plain, load)
            edits.append(replace_between(plain, at.start, at.end, taken))
    if not edits:
        return plain
    edits += _upkeep(turn, one, plain, left_out, [arguments[root] for root in left_out])
    return _read(turn, edited(data_of(plain), sorted(edits, key=lambda e: e.span.start)), one.name)


def _parts(call: ast.Call) -> tuple[ast.expr, ast.expr | None, ast.expr | None]:
    """The place, the value that is stored or that lanes have which the mask leaves out, and the mask, of a call."""
    is_store = called(call) == "store"
    order = ("pointer", "value", "mask") if is_store else ("pointer", "mask", "other")
    parts = dict(zip(order, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    return parts["pointer"], parts.get("value" if is_store else "other"), parts.get("mask")


def _declared_by(plain: Kernel, load: ast.Call) -> ast.Assign | None:
    """The statement by which a load, whose lanes all hold what was stored, gives a variable its only value."""
    function, (_, other, _) = function_of(plain), _parts(load)
    names = [*stored_names(function), *(p.name for p in plain.parameters)]
    for statement in body_of(function):
        if isinstance(statement, ast.Assign) and statement.value is load and other is None:
            match statement.targets:
                case [ast.Name(id=name)] if names.count(name) == 1:
                    return statement
    return None


def _only_moves(statement: ast.stmt, pointer: str) -> bool:
    """Whether a statement does nothing but move a pointer on: `p += row * n`."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name)):
            return name == pointer
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name == pointer and pointer in names_in_order(value)
    return False


def _upkeep(
    turn: TritonTurn, one: JoinedPrograms, plain: Kernel, left_out: set[str], buffers: Sequence[str]
) -> list[Edit]:
    """Edits that take parameters out of the joined kernel's head and launch, and buffers out of the host function."""
    source = source_of(plain)
    assert source.module is not None
    module, function = module_lines(source.data, source.module), function_of(plain)
    header = span_of(plain, body_of(function)[0]).start
    launch = next(x for x in plain.launches if x.launcher == turn.launch.launcher)
    edits = [
        replace_between(
            plain, plain.span.start, start_of_line(source.data, header), one.head(left_out) + "\n"
        ),
        replace_between(plain, launch.span.start, launch.span.end, one.launch(left_out)),
    ]
    host = next(
        f
        for f in ast.walk(source.module)
        if isinstance(f, ast.FunctionDef)
        and f.name == turn.host.function.name
        and module.range(f)[0] <= launch.span.start < module.range(f)[1]
    )
    made = [s for s in ast.walk(host) if isinstance(s, ast.Assign) and set(stored_names(s)) & set(buffers)]
    return [*edits, *(_without(plain, *module.range(s)) for s in made)]


def _handed_over(
    turn: TritonTurn, one: JoinedPrograms, plain: Kernel, arguments: dict[str, str]
) -> list[_Handed]:
    """What the first kernel stores and the other one loads again at the same places. Refused where anything else that
    one of them stores may be touched by the other.
    """
    model = model_of(plain)
    begins = function_of(plain).lineno + one.head().count("\n") + one.first.count("\n")
    accesses = [a for a in model.accesses if a.space == "global"]
    firsts = [a for a in accesses if _line(a) < begins]
    thens = [a for a in accesses if _line(a) >= begins]
    handed: dict[int, _Handed] = {}
    for a in firsts:
        for b in thens:
            if not (a.writes or b.writes):
                continue
            if a.root != b.root:
                if turn.host.may_be_one(arguments.get(a.root, ""), arguments.get(b.root, "")) and (
                    a.writes or not _alike(a, b)
                ):
                    raise Refusal(f"`{b.text}` may touch what `{a.text}` touches, where both are one buffer")
                continue
            if not _alike(a, b):
                raise Refusal(
                    f"a program of {turn.then.name} may touch by `{b.text}` what another program of "
                    f"{turn.first.name} touches by `{a.text}`"
                )
            if a.writes:
                _take(handed, plain, accesses, a, b)
    return list(handed.values())


def _take(
    handed: dict[int, _Handed], plain: Kernel, accesses: Sequence[Access], a: Access, b: Access
) -> None:
    """Note that what one access has stored another one loads, or overwrites."""
    function = function_of(plain)
    store, other = _call(function, accesses, a), _call(function, accesses, b)
    statement = next((s for s in body_of(function) if isinstance(s, ast.Expr) and s.value is store), None)
    plainly = all(_says_no_more(call) for call in (store, other) if call is not None)
    if store is None or other is None or statement is None or not plainly:
        raise Refusal(f"how `{b.text}` follows `{a.text}` is not seen")
    before = handed.setdefault(id(store), _Handed(statement, store, a.root, (), False))
    if sum(h.root == a.root for h in handed.values()) > 1:
        raise Refusal(f"`{a.root}` is stored to at several places before it is used again")
    if b.reads:
        handed[id(store)] = replace(before, loads=(*before.loads, other))
        return
    always = any(isinstance(s, ast.Expr) and s.value is other for s in body_of(function))
    if not always or any(isinstance(n, ast.Return) for n in ast.walk(function)):
        raise Refusal(f"`{b.text}` may leave what `{a.text}` has stored")
    handed[id(store)] = replace(before, is_overwritten=True)


def _call(function: ast.FunctionDef, accesses: Sequence[Access], access: Access) -> ast.Call | None:
    """The call of the kernel itself that makes an access; None where several may."""
    name = "store" if access.writes else "load"
    line = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Call) and called(n) in ("load", "store") and n.lineno == access.line
    ]
    several = len(line) != 1 or sum(a.line == access.line for a in accesses) != 1 or bool(access.calls)
    return line[0] if not several and called(line[0]) == name else None


def _says_no_more(call: ast.Call) -> bool:
    """Whether a load or store says nothing of lanes that no mask leaves out, as the padding of a block does."""
    return len(call.args) <= _BY_PLACE and all(k.arg in _PLAIN for k in call.keywords)


_BY_PLACE = 3
_PLAIN = ("pointer", "value", "mask", "other", "eviction_policy", "cache_modifier")


def _alike(a: Access, b: Access) -> bool:
    """Whether a program touches the same elements by two accesses, each once."""
    return (
        a.offset is not None
        and b.offset is not None
        and polynomial(a.offset) == polynomial(b.offset)
        and set(a.path) == set(b.path)
        and not (a.loops or b.loops or a.atomic or b.atomic)
    )


def _line(access: Access) -> int:
    """The line of the kernel itself that an access is made from."""
    return access.calls[0] if access.calls else access.line


ASSIST = Assist(
    title="Join Triton kernels that are launched in turn",
    skill="triton-joined-kernels",
    pattern="launched_in_turn",
    make=_rewrite,
)
