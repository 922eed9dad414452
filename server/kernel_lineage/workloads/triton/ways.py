"""The ways on which host code reaches a Triton launch: from tests, else from the module's functions.

Where a test reaches the launch only through objects that are not followed, the module's own functions are read with
tensors of the test's shapes; where there is no test, with shapes of the rank that the functions take apart.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from kernel_gate.expressions import Number
from kernel_lineage.workloads.model import USUALLY_TAKEN, Taken
from kernel_lineage.workloads.triton.calls import backward, bound
from kernel_lineage.workloads.triton.cases import cases_of, parameters_of
from kernel_lineage.workloads.triton.chosen_shapes import Chosen
from kernel_lineage.workloads.triton.classes import decorators
from kernel_lineage.workloads.triton.host import STEPS, Reader
from kernel_lineage.workloads.triton.host_modules import HostModule, called_in, launched_in, names_of
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.objects import Class, Elsewhere, Frame, Instance, Names, Reached, Stopped
from kernel_lineage.workloads.triton.sites import Site
from kernel_lineage.workloads.triton.usages import Usage
from kernel_lineage.workloads.triton.values import External, Open, Tensor, text_of

_MOST_EXAMPLES = 4
_MOST_CHOICES = 3
"""Times that shapes are chosen for one function: the host code may use a tensor with more axes than were chosen."""
_MOST_TIMED = 3
"""Rounds of the loops of a benchmark that are read, beside the last ones."""
_MOST_LATER = 3
"""Launches of one test behind its first."""
_LARGE = 1 << 16
"""Elements of a tensor that no size of a dim makes fewer."""
_OPTIONAL = re.compile(r"\b(None|Optional)\b")
_MOST_STEPS = 10 * STEPS
"""Statements that are read for one kernel, on all ways."""


@dataclass(slots=True)
class Reading:
    """What is found on one way to the launch."""

    call: ast.Call
    frame: Frame
    """Where the call stands."""
    way: str
    """The test or function that leads to the launch."""
    taken: Taken = USUALLY_TAKEN
    said: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    tested: bool = False
    """Whether a test leads there."""
    cases: Sequence[Names] = ()
    """The cases of the test, the one first that is read."""
    constants: set[str] = field(default_factory=set)
    """Constexpr parameters that the grid is a function of: known by their values, and no dims."""
    fixed: bool = False
    """Whether what the test passes holds at the test's own sizes alone."""
    chosen: Chosen | None = None
    """What chooses for the parameters of which no caller is known; None where a test leads there."""
    unshaped: set[str] = field(default_factory=set)
    """Names that the host code has for tensors whose shapes nothing tells."""

    @property
    def reader(self) -> Reader:
        """The one who reads."""
        return self.frame.reader


def _is_other(case: Names, first: Names) -> bool:
    """Whether a case differs from the first one in more than whole numbers."""
    changed = [v for name, v in case.items() if v != first.get(name)]
    return any(type(v) is not int for v in changed)


def _is_large(frame: Frame) -> bool:
    """Whether a tensor at a launch is large by numbers that are no dims."""
    shapes = (v.shape or () for v in frame.names.values() if isinstance(v, Tensor))
    return any(prod(e for e in shape if isinstance(e, int)) > _LARGE for shape in shapes)


def _with_loops(cases: Sequence[Names], loops: Sequence[Sequence[Names]]) -> list[Names]:
    """The cases of a test with those of the loops around the launch, of which the first rounds are read."""
    own = {name: value for rounds in loops for name, value in next(iter(rounds), {}).items()}
    first = {**cases[0], **own}
    return [first, *({**first, **case} for others in (cases, *loops) for case in others[1:])]


@dataclass(slots=True)
class Ways:
    """What is looked for, and how much may still be read for it."""

    target: ast.FunctionDef
    modules: Modules
    taken: Taken
    steps: int = _MOST_STEPS
    entries: frozenset[str] = frozenset()
    """Functions of compiled extensions whose calls are looked for."""
    absent: frozenset[str] = frozenset()
    """Parameters of the module's own functions that are left out, as their callers may."""
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tensor of the module's own functions → its axes, "" for one without a name, as kernels walk along them."""
    examples: list[tuple[Usage, dict[str, Tensor], dict[str, Number]]] = field(default_factory=list)
    """Tests that did not reach the launch, with the tensors that they made."""

    def from_tests(self, usages: Sequence[Usage]) -> Iterator[Reading]:
        """The launch as tests reach it: each with its largest case, then with others."""
        left: list[tuple[Usage, list[Names]]] = []
        for usage in usages:
            cases = cases_of(usage, self._test_reader(usage))
            reading = self._tried(usage, cases[0], keeps=True)
            if reading is not None:
                reading.cases = _with_loops(cases, reading.reader.loops)
                yield reading
            elif len(cases) > 1:
                left.append((usage, cases[1:]))
        for usage, cases in left:
            for case in cases:
                reading = self._tried(usage, case)
                if reading is not None:
                    yield reading
                    break

    def others_from_tests(self, usages: Sequence[Usage]) -> Iterator[Reading]:
        """The launches to which tests come in each of their cases and rounds of loops, and behind their first one.

        Cases that differ in whole numbers alone are other sizes of one launch, and are left out.
        """
        for usage in usages:
            cases = cases_of(usage, self._test_reader(usage))
            first = self._tried(usage, cases[0])
            if first is not None:
                yield first
            loops = first.reader.loops if first is not None else []
            picks = [
                {tuple(rounds[0]): at}
                for rounds in loops
                for at, one in enumerate(rounds)
                if _is_other(one, rounds[0])
            ]
            tries: list[tuple[Names, Elsewhere]] = [
                *((case, Elsewhere()) for case in cases[1:] if _is_other(case, cases[0])),
                *((cases[0], Elsewhere(pick)) for pick in picks),
                *((cases[0], Elsewhere(passes=n)) for n in range(1, _MOST_LATER + 1) if first is not None),
            ]
            for case, where in tries:
                reading = self._tried(usage, case, where=where)
                if reading is not None:
                    yield reading

    def timed_in(self, usages: Sequence[Usage]) -> Iterator[Reading]:
        """The launches that the first benchmark times: in the first rounds of its loops together, in the second ones,
        and so on, and in the last.
        """
        for usage in usages:
            case = cases_of(usage, self._test_reader(usage))[0]
            first = self._tried(usage, case, where=Elsewhere(only_timed=True))
            if first is None or not first.reader.sizes:
                # One that is given its sizes says none.
                continue
            yield first
            loops = [rounds for rounds in first.reader.loops if len(rounds) > 1]
            most = max(map(len, loops), default=1)
            for at in sorted({*range(1, min(most, _MOST_TIMED)), most - 1} - {0}):
                picked = {tuple(rounds[0]): min(at, len(rounds) - 1) for rounds in loops}
                reading = self._tried(usage, case, where=Elsewhere(picked, only_timed=True))
                if reading is not None:
                    yield reading
            return

    def _test_reader(self, usage: Usage, depth: int = 1) -> Reader:
        helps = self.target.name not in launched_in(usage.module.tree)
        test = usage.module if helps else None
        return Reader(
            self.modules, self.target, {}, lambda _name, _asked: None, depth, test, entries=self.entries
        )

    def _tried(
        self, usage: Usage, case: Names, keeps: bool = False, depth: int = 1, where: Elsewhere | None = None
    ) -> Reading | None:
        """One case of a test; None where it does not reach the launch."""
        if self.steps < 0:
            return None
        reader = self._test_reader(usage, depth)
        if where is not None:
            reader.where = where
        names: Names = {}
        try:
            names = parameters_of(usage, case, reader)
            with contextlib.suppress(Stopped):
                reader.run(usage.function, usage.module, names)
            backward(reader)
        except Reached as reached:
            # A test that hands on its sizes as numbers makes no tensor itself, or only some of them.
            is_open = depth == 1 and (not reader.sizes or _is_large(reached.frame))
            deeper = self._tried(usage, case, depth=2, where=where) if is_open else None
            if deeper is not None and not (reader.sizes and _is_large(deeper.frame)):
                return deeper
            notes = [f"sizes are those of {usage.name}"]
            return Reading(reached.call, reached.frame, usage.name, self.taken, notes, tested=True)
        except Stopped:
            pass
        finally:
            self.steps -= STEPS - reader.steps
        tensors = {n: v for n, v in names.items() if isinstance(v, Tensor) and v.shape}
        if tensors and keeps:
            self.examples.append((usage, tensors, dict(reader.sizes)))
        return None

    def from_examples(self, sites: Sequence[Site]) -> Iterator[Reading]:
        """The launch as the module's own functions reach it, with tensors of a test's shapes."""
        self.steps = max(self.steps, _MOST_STEPS // 2)
        for usage, tensors, sizes in self.examples[:_MOST_EXAMPLES]:
            for main in dict.fromkeys(t.shape for t in tensors.values()):
                for site in sites if main is not None else ():
                    for start in self._starts(site):
                        example = _Example(usage, tensors, main or (), dict(sizes))
                        yield from self._from_start(site, start, example, usage.name)

    def from_functions(self, sites: Sequence[Site]) -> Iterator[Reading]:
        """The launch as the module's own functions reach it, with shapes that these functions take apart."""
        self.steps = max(self.steps, _MOST_STEPS // 2)
        for site in sites:
            for start in self._starts(site):
                left_out = [
                    n for n in sorted(self.absent) if n in names_of(site.module.functions[start].args)
                ]
                notes = [f"{name} is taken to be None: nothing tells its shape" for name in left_out]
                chosen = Chosen(site.module, start, site.launcher, self.taken.floats, said=notes)
                chosen.chooses_again(self.axes)
                yield from self._from_start(site, start, chosen, start)

    def _from_start(self, site: Site, start: str, caller: Chosen | _Example, way: str) -> Iterator[Reading]:
        """The launch as one function reaches it, whose caller is made up."""
        for forced in (False, True):
            for _ in range(_MOST_CHOICES):
                if self.steps < 0:
                    return
                reader, reached = self._read_from(site.module, start, caller, forced)
                if not isinstance(caller, Chosen) or not caller.chooses_again(reader.wanted):
                    break
            if reached is not None:
                chosen = caller if isinstance(caller, Chosen) else None
                yield Reading(reached.call, reached.frame, way, self.taken, caller.said, chosen=chosen)
                return

    def _read_from(
        self, module: HostModule, start: str, caller: Chosen | _Example, forced: bool
    ) -> tuple[Reader, Reached | None]:
        """Whoever read a function whose caller is made up, and the launch if it is reached."""
        chooses = isinstance(caller, Chosen)
        if isinstance(caller, Chosen):
            caller.flags = forced
        reader = Reader(
            self.modules, self.target, caller.sizes, caller.tensor, forced=forced, chooses=chooses
        )
        try:
            self._run_start(reader, module, start, caller)
        except Reached as reached:
            return reader, reached
        except Stopped:
            pass
        finally:
            self.steps -= STEPS - reader.steps
        return reader, None

    def _run_start(self, reader: Reader, module: HostModule, start: str, caller: Chosen | _Example) -> None:
        of, _, _ = start.rpartition(".")
        if of not in module.classes:
            reader.run(module.functions[start], module, self._arguments(reader, module, start, caller))
            return
        context = Instance(Class(module.classes[of], module))
        made = module.functions.get(f"{of}.__init__")
        if made is not None and made.args.args:
            names = self._arguments(reader, module, f"{of}.__init__", caller)
            names[made.args.args[0].arg] = context
            with contextlib.suppress(Stopped):
                reader.run(made, module, names)
        forward = module.functions.get(f"{of}.forward")
        if forward is not None:
            names = self._arguments(reader, module, f"{of}.forward", caller)
            names[forward.args.args[0].arg if forward.args.args else "ctx"] = context
            result: object = None
            with contextlib.suppress(Stopped):
                result = reader.run(forward, module, names)
            reader.applied.append((context, result))
            backward(reader)
        if start.endswith(".backward") or forward is None:
            names = self._arguments(reader, module, start, caller)
            function = module.functions[start]
            if "ctx" in names:
                names["ctx"] = External("ctx")
            elif function.args.args and "staticmethod" not in decorators(function):
                is_of_class = "classmethod" in decorators(function)
                names[function.args.args[0].arg] = context.of if is_of_class else context
            reader.run(module.functions[start], module, names)

    def _arguments(self, reader: Reader, module: HostModule, start: str, caller: Chosen | _Example) -> Names:
        """What the parameters of a function are."""
        arguments = module.functions[start].args
        names = bound(arguments, [], {}, reader, module)
        for name, annotation in names_of(arguments).items():
            names[name] = None if name in self.absent else caller.opened(name, names[name], annotation)
        return names

    def _starts(self, site: Site) -> list[str]:
        """The functions of a module that lead to a launcher: those that call it, nearest last, and itself."""
        functions = site.module.functions
        starts = [site.launcher]
        for name in starts:
            last = name.rpartition(".")[2]
            starts += [
                other
                for other, function in functions.items()
                if other not in starts and last in called_in(function)
            ][:4]
        # From the outermost: it knows most of what the launcher is given.
        return list(dict.fromkeys(reversed(starts[:6])))


def may_be_none(module: HostModule, names: Collection[str]) -> frozenset[str]:
    """Those parameters of a module's functions that its code compares with None, or says may be None."""
    optionals: set[str] = set()
    for function in module.functions.values():
        hints = names_of(function.args).items()
        optionals.update(name for name, annotation in hints if _OPTIONAL.search(annotation))
    for node in ast.walk(module.tree):
        match node:
            case ast.Compare(
                left=ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str() as name)),
                ops=[ast.Is() | ast.IsNot()],
                comparators=[ast.Constant(value=None)],
            ):
                optionals.add(name)
    return frozenset(optionals & set(names))


def left_out(module: HostModule, launcher: str) -> frozenset[str]:
    """The parameters of a function that its annotation says may be None."""
    types = names_of(module.functions[launcher].args).items()
    return frozenset(name for name, annotation in types if _OPTIONAL.search(annotation))


@dataclass(slots=True)
class _Example:
    """Tensors of a test for parameters that nobody gives: by their names, else of the shape of one of them."""

    usage: Usage
    tensors: Mapping[str, Tensor]
    main: tuple[object, ...]
    sizes: dict[str, Number]
    said: list[str] = field(default_factory=list)
    shaped: set[str] = field(default_factory=set)

    def opened(self, name: str, default: object, _annotation: str) -> object:
        """What a parameter is that nobody gives: one that may be left out is there where the test has it."""
        return Open(name) if default is None and name in self.tensors else default

    def tensor(self, name: str, asked: bool) -> Tensor:
        """What a parameter is taken to be."""
        self.shaped.update([name] if asked else ())
        plain = name.lower().strip("_")
        same = next((t for n, t in self.tensors.items() if n.lower().strip("_") == plain), None)
        shape = same.shape if same is not None else self.main if name in self.shaped else None
        if isinstance(shape, tuple):
            extents = ", ".join(map(text_of, shape))
            text = f"{name} is taken to have the shape ({extents}) of a tensor of {self.usage.name}"
            if text not in self.said:
                self.said.append(text)
        sizes = shape if isinstance(shape, tuple) else None
        return Tensor(name, sizes, same.dtype if same is not None else None, same.values if same else "")  # type: ignore[arg-type]
