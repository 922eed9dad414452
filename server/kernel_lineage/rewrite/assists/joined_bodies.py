"""The bodies of two kernels one behind the other, for a thread that does the work of both for its element."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_gate.expr.polynomials import polynomial
from kernel_gate.expr.terms import Var, substituted, variables
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, contains, declarators, field_of, test_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.cuda_tests import conditions
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.kernels.words import WORD, with_meanings
from kernel_lineage.rewrite.assists.element_work import check_alone, only_declares
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    dedented,
    descendants,
    indent_unit,
    source_of,
    statements_of,
    syntax_of,
    taken_name,
    with_changes,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_between
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder

_QUALIFIERS = re.compile(r"(?<=\*)\s*\b(?:__restrict__|__restrict|restrict)\b\s*")


_READS = frozenset({"subscript_expression", "pointer_expression", "call_expression", "field_expression"})
"""What may read memory."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a thread does: declarations, one check of whether there is work for it, and the work."""

    kernel: Kernel
    syntax: CudaSyntax
    before: tuple[Node, ...]
    guard: Node | None
    """None where every thread has work; a loop over a thread's elements where it has several."""
    leaves: bool
    """The check returns where there is none, and the work stands behind it."""
    inner: tuple[Node, ...]
    """The statements of the work, comments among them."""

    @property
    def statements(self) -> list[Node]:
        """The statements of the work without comments."""
        return [s for s in self.inner if s.type != "comment"]

    @property
    def visible(self) -> set[str]:
        """The names that stand for something at the end of the work."""
        declared = (s for s in (*self.before, *self.inner) if s.type == "declaration")
        return {name for s in declared for name, *_ in declarators(s)}

    @property
    def names(self) -> set[str]:
        """The names of all variables."""
        return {v.name for v in self.syntax.entry.variables}

    @property
    def test(self) -> Node | None:
        """The condition of the check."""
        return test_of(self.guard) if self.guard is not None else None

    @property
    def loop(self) -> Loop | None:
        """The loop over a thread's elements."""
        return next((one for one in self.syntax.entry.loops if one.node == self.guard), None)

    @property
    def round(self) -> str:
        """The reader's variable that counts the rounds of that loop; "" without one."""
        loops = read_open(self.kernel).loops.values() if self.loop is not None else ()
        place = (self.guard.start_byte, self.guard.end_byte) if self.guard is not None else None
        return next((one.round for one in loops if one.at == place), "")

    @property
    def head(self) -> str:
        """What the work stands in the braces of."""
        assert self.guard is not None
        if self.loop is None:
            return f"if {text_of(field_of(self.guard, 'condition'))}"
        body = field_of(self.guard, "body")
        assert body is not None
        return text_of(self.guard)[: body.start_byte - self.guard.start_byte].rstrip()

    def needs(self, meanings: Mapping[str, str]) -> set[object]:
        """What has to hold for there to be work, with other names for some."""
        loop = self.loop
        if loop is not None and loop.start is not None:
            ways = (loop.condition, loop.update)
            texts = tuple("".join(with_meanings(text_of(n), meanings).split()) for n in ways)
            return {(self.meant(loop.start, meanings), *texts)}
        if self.test is None:
            return set()
        return {
            tuple(self.meant(side, meanings) for side in part.below)
            if part.below is not None
            else (part.holds, self.meant(part.node, meanings))
            for part in conditions(self.test, holds=not self.leaves)
        }

    def meant(self, node: Node, meanings: Mapping[str, str]) -> object:
        """What an expression stands for, with other names for some: a whole number by what it is computed from."""
        model = read_open(self.kernel)
        term = model.values.get((node.start_byte, node.end_byte))
        if term is not None and not set(variables(term)) & (model.instance - model.places.keys()):
            return frozenset(polynomial(substituted(term, {n: Var(m) for n, m in meanings.items()})).items())
        return "".join(with_meanings(text_of(node), meanings).split())


def work_of_thread(kernel: Kernel) -> Work:
    """What a thread of a kernel does alone. Refused where threads work together, or nothing else could have it."""
    syntax = syntax_of(kernel)
    check_alone(kernel, syntax)
    if kernel.attributes or not re.fullmatch(r"(?:template\s*<[^<>]*>\s*)?", head_of(kernel)):
        raise Refusal(f"{kernel.name} has attributes that another kernel would not have")
    body = syntax.entry.node.child_by_field_name("body")
    if body is None or any(n.type.startswith("preproc") for n in descendants(body)):
        raise Refusal(f"{kernel.name} has lines of the preprocessor in its body")
    parts, parameters = tuple(body.named_children), {p.name for p in kernel.parameters}
    changed = changed_between(syntax, body.start_byte, body.end_byte)
    if own := parameters & changed:
        raise Refusal(f"{kernel.name} changes `{min(own)}`, which it is given")
    statements = [s for s in parts if s.type != "comment"]
    work = Work(kernel, syntax, (), None, False, parts)
    for statement in statements:
        if statement.type == "for_statement" and statement == statements[-1]:
            return _looped(work, parts, statement)
        if statement.type != "if_statement":
            if not only_declares(statement):
                break
            continue
        then = field_of(statement, "consequence")
        leaves = [text_of(s).replace(" ", "") for s in statements_of(then)] == ["return;"]
        if field_of(statement, "alternative") is not None or not (leaves or statement == statements[-1]):
            break
        at = parts.index(statement)
        inside = then.named_children if then is not None and then.type == "compound_statement" else [then]
        inner = parts[at + 1 :] if leaves else tuple(n for n in inside if n is not None)
        work = Work(kernel, syntax, parts[:at], statement, leaves, inner)
        break
    if not work.statements:
        raise Refusal(f"{kernel.name} has no work behind its check")
    return work


def _looped(work: Work, parts: tuple[Node, ...], loop: Node) -> Work:
    """What a thread does for each of its elements, where the kernel ends with a loop over them; else the same work."""
    body = field_of(loop, "body")
    made = replace(work, before=parts[: parts.index(loop)], guard=loop)
    over = made.loop
    if body is None or over is None or over.start is None or not over.counter:
        return work
    if ThreadOrder(work.kernel, work.syntax).covers_all(over) != "grid":
        return work
    inner = body.named_children if body.type == "compound_statement" else [body]
    made = replace(made, inner=tuple(inner))
    ways_out = ("break_statement", "continue_statement", "return_statement")
    if any(n.type in ways_out for n in descendants(body)) or over.counter in changed_between(
        work.syntax, body.start_byte, body.end_byte
    ):
        raise Refusal(
            f"the loop over the elements of {work.kernel.name} is left, or counts otherwise, in its body"
        )
    return made


def head_of(kernel: Kernel) -> str:
    """What stands in front of `__global__`: the head of a template."""
    return kernel.text.partition("__global__")[0]


@dataclass(slots=True)
class Joined:
    """Two kernels as one: what the second one's names are there, and its parameters."""

    first: Work
    then: Work
    meanings: dict[str, str]
    """The second kernel's names, as the joined one has them, where they differ or stand for the first one's."""
    parameters: list[str]
    """As they are declared."""
    arguments: list[str]
    """As the host passes them."""
    dropped: list[Node]
    """Declarations of the second kernel that the first one has."""
    taken: set[str]

    def text(
        self, name: str, changes: Mapping[Node, str], left_out: Collection[str] = ()
    ) -> tuple[list[str], int]:
        """The lines of the joined kernel, and how many of them come before the second one's work.

        `changes` are other texts for nodes of either, "" for a statement that goes; `left_out` are parameters that it
        does without.
        """
        first, then, unit = self.first, self.then, indent_unit(self.first.kernel)
        parameters = [p for p in self.parameters if name_of(p) not in left_out]
        lines = [*head_of(first.kernel).splitlines(), *_head(f"__global__ void {name}", parameters)]
        if not re.search(
            r"\n\s*\{", first.kernel.text[: first.kernel.body_span.start - first.kernel.span.start + 1]
        ):
            lines = [*lines[:-2], f"{lines[-2]} {{"]
        own = self._lines(first, first.inner, changes)
        work = self._lines(then, [s for s in then.before if s not in self.dropped], changes)
        if first.guard is None and then.guard is not None:
            work += self._lines(then, [then.guard], changes)
        if first.guard is not None or then.guard is None or then.leaves:
            work += self._lines(then, then.inner, changes)
        lines += _moved_in(self._lines(first, first.before, changes), unit)
        if first.guard is None or first.leaves:
            guard = self._lines(first, [first.guard], changes) if first.guard is not None else []
            lines += _moved_in([*guard, *own], unit)
            return [*lines, *_moved_in(work, unit), "}"], len(lines)
        lines += [f"{unit}{first.head} {{", *_moved_in(own, 2 * unit)]
        return [*lines, *_moved_in(work, 2 * unit), f"{unit}}}", "}"], len(lines)

    def renamed(self, node: Node | None, changes: Mapping[Node, str]) -> str:
        """A node of the second kernel with what its names are in the joined one."""
        assert node is not None
        return with_changes(node.text or b"", node.start_byte, self._changes(self.then, [node], changes))

    def _lines(self, work: Work, parts: Sequence[Node], changes: Mapping[Node, str]) -> list[str]:
        kept = [p for p in parts if changes.get(p) != ""]
        return [
            line
            for together in _runs(kept)
            for line in dedented(data_of(work.kernel), together, self._changes(work, together, changes))
        ]

    def _changes(
        self, work: Work, parts: Sequence[Node], changes: Mapping[Node, str]
    ) -> list[tuple[Node, str]]:
        """The outermost changes within some nodes of a kernel, and its names where nothing else changes."""
        start, end = parts[0].start_byte, parts[-1].end_byte
        within = [(n, text) for n, text in changes.items() if start <= n.start_byte and n.end_byte <= end]
        made = [(n, text) for n, text in within if not any(o != n and contains(o, n) for o, _ in within)]
        if work is self.then:
            made += [
                (node, self.meanings[text_of(node)])
                for part in parts
                for node in descendants(part)
                if node.type == "identifier"
                and text_of(node) in self.meanings
                and not any(contains(o, node) for o, _ in made)
            ]
        return made


def _moved_in(lines: list[str], by: str) -> list[str]:
    return [by + line if line.strip() else "" for line in lines]


def name_of(parameter: str) -> str:
    """The name in the declaration of a parameter."""
    return str(WORD.findall(parameter)[-1])


def _runs(parts: list[Node]) -> Iterator[list[Node]]:
    """Statements and comments, in runs that follow each other in the text."""
    run: list[Node] = []
    for part in parts:
        if run and run[-1].next_named_sibling != part:
            yield run
            run = []
        run.append(part)
    if run:
        yield run


def _head(start: str, parameters: list[str]) -> list[str]:
    lines, room = [f"{start}("], len(start) + 1
    for number, parameter in enumerate(parameters):
        text = parameter + (")" if number == len(parameters) - 1 else ",")
        if len(lines[-1]) + len(text) > 100 and number:
            lines.append(" " * room + text)
        else:
            lines[-1] += ("" if lines[-1].endswith("(") else " ") + text
    return [*lines, "{"] if parameters else [f"{start}()", "{"]


def joined(
    first: Work, then: Work, arguments: tuple[tuple[str, ...], tuple[str, ...]], bases: Mapping[str, str]
) -> Joined:
    """Two kernels as one that takes what the host gives each of them. `bases` are the buffers of the pointer arguments.

    Refused where they check different things, or where a name would stand for something else.
    """
    one = Joined(first, then, {}, [], [], [], first.names | {p.name for p in first.kernel.parameters})
    passed: dict[str, Parameter] = {}
    for parameter, argument in zip(first.kernel.parameters, arguments[0], strict=True):
        key = _key(parameter, argument, bases)
        if key in passed:
            raise Refusal(f"{first.kernel.name} is given `{argument}` twice")
        passed[key] = parameter
    declared = {p.name: _declared(first.kernel, p) for p in first.kernel.parameters}
    new: list[tuple[str, str]] = []
    keys: set[str] = set()
    for parameter, argument in zip(then.kernel.parameters, arguments[1], strict=True):
        key = _key(parameter, argument, bases)
        if key in keys:
            raise Refusal(f"{then.kernel.name} is given `{argument}` twice")
        keys.add(key)
        same = passed.get(key)
        if same is None:
            name = taken_name(parameter.name, one.taken)
            new.append((_renamed(_declared(then.kernel, parameter), parameter.name, name), argument))
        else:
            name = same.name
            if element_of(same) != element_of(parameter):
                raise Refusal(
                    f"`{argument}` is `{same.type}` in one kernel and `{parameter.type}` in the other"
                )
            if same.pointer and not parameter.const:
                declared[name] = re.sub(r"^\s*const\s+", "", declared[name])
        if name != parameter.name:
            one.meanings[parameter.name] = name
    one.parameters = [*declared.values(), *(text for text, _ in new)]
    one.arguments = [*arguments[0], *(argument for _, argument in new)]
    _name_variables(one)
    if (first.loop is None) != (then.loop is None):
        raise Refusal(
            f"only one of {first.kernel.name} and {then.kernel.name} loops over a thread's elements"
        )
    if head_of(first.kernel).split() != head_of(then.kernel).split():
        raise Refusal(f"{first.kernel.name} and {then.kernel.name} are not templates over the same")
    _check_guard(first)
    needs, others = first.needs({}), then.needs(one.meanings)
    if first.guard is not None and needs != others:
        raise Refusal(
            f"{first.kernel.name} works where `{text_of(first.test)}` says so and {then.kernel.name} where "
            f"`{text_of(then.test) or 'nothing'}` does: they are not known to be the same threads"
        )
    for node in (n for s in first.inner for n in descendants(s) if n.type == "return_statement"):
        line = node.start_point.row + 1
        raise Refusal(f"the return in line {line} would leave out the work of {then.kernel.name}")
    words = {word for _, own, body in macros_of(first.kernel) for word in set(WORD.findall(body)) - own}
    if hidden := words & (one.meanings.keys() | first.names | then.names):
        raise Refusal(f"a macro names `{min(hidden)}`, which may be a variable of a kernel")
    return one


def _check_guard(first: Work) -> None:
    """Refuse a check that may come to something else behind the first kernel's work."""
    if first.test is None or first.loop is not None:
        return
    inner = first.inner[0].start_byte, first.inner[-1].end_byte
    changed = identifiers_in(first.test) & changed_between(first.syntax, *inner)
    reads = any(n.type in _READS for n in descendants(first.test))
    if reads or changed:
        raise Refusal(
            f"`{text_of(first.test)}` may come to something else once {first.kernel.name} has done its work"
        )


def _key(parameter: Parameter, argument: str, bases: Mapping[str, str]) -> str:
    return f"&{bases[argument]}" if parameter.pointer else f"{''.join(argument.split())} {parameter.type}"


def element_of(parameter: Parameter) -> str:
    """The type of what a pointer parameter points to, or of a number, as written, without qualifiers."""
    words = parameter.type.replace("*", " ").split()
    return " ".join(w for w in words if w not in ("const", "volatile") and "restrict" not in w)


def _declared(kernel: Kernel, parameter: Parameter) -> str:
    """A parameter as it is declared, without promises that were made for one of the kernels alone."""
    text = " ".join(source_of(kernel).text(parameter.span).split())
    return _QUALIFIERS.sub(" ", text) if parameter.pointer else text


def _renamed(declared: str, name: str, other: str) -> str:
    return declared[: len(declared) - len(name)] + other


def _name_variables(one: Joined) -> None:
    """Give the second kernel's variables names of their own; what the first one declares alike stands for both."""
    first, then = one.first, one.then
    changed_first = _changed_later(first)
    changed_then = _changed_later(then)
    had = {
        (v.type, first.meant(v.value, {})): v.name
        for v in first.syntax.entry.variables
        if v.node in first.before and v.value is not None and v.name not in changed_first
    }
    taken = first.visible | {p.name for p in first.kernel.parameters} | set(one.meanings.values())
    taken |= {name_of(p) for p in one.parameters}
    counters = [work.loop.counter if work.loop is not None else "" for work in (first, then)]
    taken |= {counters[0]} - {""}
    for variable in then.syntax.entry.variables:
        if (
            all(counters)
            and variable.name == counters[1]
            and contains(then.guard or variable.node, variable.node)
        ):
            # Whether both count alike is what the heads of the loops are compared for.
            if counters[0] != counters[1]:
                one.meanings[counters[1]] = counters[0]
            continue
        if variable.name in one.meanings:
            raise Refusal(f"`{variable.name}` stands for several things in {then.kernel.name}")
        value = variable.value
        alike = had.get((variable.type, then.meant(value, one.meanings))) if value is not None else None
        alone = len(variable.node.children_by_field_name("declarator")) == 1
        if alike and alone and variable.node in then.before and variable.name not in changed_then:
            one.dropped.append(variable.node)
            if alike != variable.name:
                one.meanings[variable.name] = alike
                taken.add(alike)
        elif variable.name in taken:
            one.meanings[variable.name] = taken_name(variable.name, one.taken)
    one.taken |= then.names | set(one.meanings.values())


def _changed_later(work: Work) -> set[str]:
    end = work.inner[-1].end_byte
    start = work.before[-1].end_byte if work.before else work.inner[0].start_byte
    return changed_between(work.syntax, start, end)
