"""Reading the host code of a Triton kernel as far as its launch, with sizes as symbols.

Functions and classes of the repository are followed; a condition is decided by the sizes that the dims have; where it
cannot be, what both branches agree on is kept. Whatever is not understood is an `Unknown` that says which expression it
was. Nothing is imported or run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_gate.expressions import Number
from kernel_lineage.workloads.triton.calls import bound
from kernel_lineage.workloads.triton.custom_ops import custom_op
from kernel_lineage.workloads.triton.device_facts import is_of_maker, surrounding
from kernel_lineage.workloads.triton.dtypes import dtype_named
from kernel_lineage.workloads.triton.elements import drawn_number, element_of
from kernel_lineage.workloads.triton.expressions import read_expression
from kernel_lineage.workloads.triton.host_modules import (
    HostModule,
    is_generator,
    launched_in,
    names_in,
    shaping,
)
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.objects import (
    Class,
    Elsewhere,
    Frame,
    Function,
    Instance,
    LeftLoop,
    Module,
    Names,
    Reached,
    Returned,
    Stopped,
)
from kernel_lineage.workloads.triton.operations import items_of
from kernel_lineage.workloads.triton.statements import agreed, named, read_statement
from kernel_lineage.workloads.triton.torch_functions import NUMBERS
from kernel_lineage.workloads.triton.values import (
    External,
    Open,
    Size,
    Tensor,
    Unknown,
    anything,
    is_bounded,
    value_at,
)

_DEPTH = 24
_HELPERS = 3
"""How many calls deep functions of a test's module help it."""
STEPS = 6_000
"""Statements that are read on one way, at most."""
_ROUNDS = 4_000
"""Rounds of comprehensions, and calls, on one way."""
_SHOWN = 80
"""Characters of an expression in a message."""
_MOST_YIELDED = 256
_WITHOUT_SHAPE = frozenset({"stride", "dtype", "device", "is_contiguous", "is_cuda", "element_size"})


@dataclass(slots=True)
class Reader:
    """One way through the host code."""

    modules: Modules
    target: ast.FunctionDef
    """The kernel whose launch is looked for, or the host function whose call is."""
    sizes: dict[str, Number]
    """Dims and their sizes; conditions are decided by them."""
    tensor_of: Callable[[str, bool], Tensor | None]
    """What a parameter is of which the caller is not known, and whether its shape is asked for; None for no tensor."""
    dims_down_to: int = 0
    """How many calls deep numbers in shapes become dims: 0 for none, 1 in a test itself, where they are examples."""
    test: HostModule | None = None
    """The module of the test, where that launches no kernel itself: its functions help the test to make tensors."""
    shaping: frozenset[str] = frozenset()
    """Names of the test that is being read by which it makes tensors: numbers that they are given are dims."""
    is_exact: bool = False
    """Whether conditions of several parts stay whole, and nothing is decided by sizes without saying so."""
    forced: bool = False
    """Whether a branch that leads to the launch is read although its condition does not hold."""
    entries: frozenset[str] = frozenset()
    """Functions of compiled extensions, which are not read: a call of one is a launch that is looked for."""
    only: ast.Call | None = None
    """The one launch that counts; None for any."""
    where: Elsewhere = field(default_factory=Elsewhere)
    """Which launch counts of those that are reached one after the other."""
    passed: int = 0
    """How many of these were passed over."""
    timing: int = 0
    """How many calls that time others are being read."""
    clocked: bool = False
    """Whether a clock was read that is to be read again: what lies between is timed."""
    assumed: Mapping[str, Size | Tensor | None] = field(default_factory=dict)
    """What names stand for that the code is not understood to give anything."""
    examples: dict[int, str] = field(default_factory=dict)
    """Number of a test → the dim that it is where no name tells it from others."""
    called_as: dict[str, str] = field(default_factory=dict)
    """Dim made of a number → the first name that the code gives it."""
    decided: list[str] = field(default_factory=list)
    """Conditions that are taken to hold because the launch stands behind them."""
    promises: list[str] = field(default_factory=list)
    """What every caller keeps, over dims that are chosen."""
    typed: set[str] = field(default_factory=set)
    """Tensors of which a check tells the dtype."""
    chooses: bool = False
    """Whether sizes are chosen, as no caller is known."""
    said: list[str] = field(default_factory=list)
    """What is taken for granted of what surrounds the code."""
    wanted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Tensor whose shape is chosen with too few axes → as many as it is used with, by their names or ""."""
    perhaps: list[list[object]] = field(default_factory=list)
    """For each function that is being read: what it returns where a condition is not known."""
    applied: list[tuple[Instance, object]] = field(default_factory=list)
    """For each autograd function that was applied: its context, and what it gave."""
    yielded: list[list[object]] = field(default_factory=list)
    """For each generator that is being read: what it yielded."""
    globals: dict[tuple[str, str], object] = field(default_factory=dict)
    """What names of modules stand for: (file, name)."""
    loops: list[list[Names]] = field(default_factory=list)
    """For each loop that is being read, also where the launch is reached: what its names are in each round."""
    steps: int = STEPS
    rounds: int = _ROUNDS
    depth: int = 0

    def run(self, function: ast.FunctionDef, module: HostModule, names: Names) -> object:
        """What a function returns, a generator what it yields. Raises `Reached` at the launch."""
        if self.depth >= _DEPTH:
            return Unknown(f"{function.name}(…)")
        if not is_generator(function):
            return self._run(function, module, names)
        self.yielded.append([])
        try:
            self._run(function, module, names)
        finally:
            items = self.yielded.pop()
        return Instance("generator", {"items": items})

    def give(self, value: object) -> None:
        """What the generator that is being read yields."""
        if not self.yielded or len(self.yielded[-1]) >= _MOST_YIELDED:
            raise Stopped("more is yielded than is read")
        self.yielded[-1].append(value)

    def entered(self, value: object) -> object:
        """What `with` and a test's fixture get of a value: of a generator what it yields first."""
        items = value.attributes["items"] if isinstance(value, Instance) and value.of == "generator" else None
        return items[0] if isinstance(items, list) and items else value

    def _run(self, function: ast.FunctionDef, module: HostModule, names: Names) -> object:
        self.begins(function, module, names)
        self.depth += 1
        self.perhaps.append([])
        around, self.shaping = self.shaping, frozenset()
        if self.makes_dims(module):
            self.shaping = shaping(function)
            for name in self.shaping & names.keys():
                if type(number := names[name]) is int:
                    names[name] = self.named_example(name, number)
        try:
            self.block(Frame(self, module, names), function.body)
            self.perhaps[-1].append(None)
        except Returned as returned:
            self.perhaps[-1].append(returned.value)
        except LeftLoop:
            self.perhaps[-1].append(None)
        except Stopped:
            if not self.perhaps[-1]:
                raise
        finally:
            self.depth -= 1
            self.shaping = around
            ends = self.perhaps.pop()
        value = ends[0]
        for end in ends[1:]:
            value = agreed(value, end, Unknown(f"{function.name}(…)"))
        return value

    def block(self, frame: Frame, body: list[ast.stmt]) -> None:
        """Some statements, one after the other."""
        for statement in body:
            self.steps -= 1
            if self.steps < 0:
                raise Stopped("too many steps")
            read_statement(frame, statement)

    def evaluate(self, node: ast.expr, frame: Frame) -> object:
        """What an expression stands for."""
        try:
            value = read_expression(frame, node)
            return (
                value if is_bounded(value) else Unknown(f"`{ast.unparse(node)[:_SHOWN]}`, which is too large")
            )
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
            # As Python would raise there, or because the code is not what it seems.
            return Unknown(f"`{ast.unparse(node)}` ({error})")

    def read(self, node: ast.expr, module: HostModule) -> object:
        """What an expression stands for outside of functions."""
        return self.evaluate(node, Frame(self, module, {}))

    def items_of(self, value: object) -> list[object] | None:
        """What a value holds one after the other; None when that is not known."""
        return items_of(value, self.sizes)

    def say(self, what: str) -> None:
        """Note once what is taken for granted."""
        if what not in self.said:
            self.said.append(what)

    def spend_round(self) -> None:
        """Count a round of a comprehension or a call of a function. Raises `Stopped` after too many."""
        self.rounds -= 1
        if self.rounds < 0:
            raise Stopped("too many rounds")

    def enter(self, function: Function, args: list[object], named: Mapping[str, object]) -> object:
        """What a function gives when it is called."""
        self.spend_round()
        if self.dims_down_to and self.depth <= 1 and function.module is not self.test:
            # A test begins with zeros, where others go on with what they have.
            args, named = [*map(anything, args)], {n: anything(v) for n, v in named.items()}
        names = {**function.around, **bound(function.node.args, args, named, self, function.module)}
        if function.of is not None:
            names["__class__"] = function.of
        if isinstance(function.node, ast.Lambda):
            return self.evaluate(function.node.body, Frame(self, function.module, names))
        return self.run(function.node, function.module, names)

    def begins(self, function: ast.FunctionDef, module: HostModule, names: Names) -> None:
        """A function begins; where it is the one that is looked for, that ends the reading. Raises `Reached`."""
        if function is self.target:
            call = ast.Call(ast.Name(function.name, ast.Load()), [], [])
            self.arrive(call, Frame(self, module, names), None)

    def arrive(self, node: ast.Call, frame: Frame, kernel: object) -> None:
        """What is looked for is called or launched here; those that count are reached."""
        if self.timing or self.clocked or not self.where.only_timed:
            if self.passed >= self.where.passes:
                self.reach(node, frame, kernel)
            self.passed += 1

    def reach(self, node: ast.Call, frame: Frame, _kernel: object) -> None:
        """A launch that counts ends the reading. Raises `Reached`."""
        raise Reached(node, frame)

    def uncertain(self, test: ast.expr) -> None:
        """A condition is not known: both ways are read, or a loop once."""

    def decides(self, _frame: Frame, _test: ast.expr, _holds: bool) -> None:
        """A loop goes on, or ends, at these sizes."""

    def unrolled(self, _frame: Frame, _statement: ast.While) -> bool:
        """Whether a loop was read as an expression of sizes."""
        return False

    def uses(self, name: str, of: object, args: list[object], named: Mapping[str, object]) -> None:
        """A function that is not read is called, a method of `of`, which is None for others."""

    def of_torch(
        self, _name: str, _args: Sequence[object], _named: Mapping[str, object], value: object
    ) -> object:
        """What a function, method or operator of torch gives, of which the shape is told by `value`; a name that ends
        in `_` changes the first argument.
        """
        return value

    def stores(self, _tensor: Tensor, _at: object, _value: object) -> None:
        """Elements of a tensor are set."""

    def tried(self, node: ast.expr, frame: Frame) -> object:
        """What an expression would stand for that Python does not come to at these sizes."""
        return self.evaluate(node, frame)

    def is_target(self, value: object) -> bool:
        """Whether this is the kernel whose launch is looked for."""
        if isinstance(value, External):
            return value.name.rpartition(".")[2] in self.entries
        return isinstance(value, Function) and value.node is self.target

    def launches(self, node: ast.AST, names: Names) -> bool:
        """Whether some code launches the kernel that is looked for, hands it on, or launches what stands for it."""
        return not {self.target.name, *self.entries}.isdisjoint(names_in(node)) or any(
            self.is_target(names.get(n)) for n in launched_in(node)
        )

    def truth(self, value: object) -> bool | None:
        """Whether a value is true; None when that is not known."""
        if isinstance(value, Size):
            number = value_at(value, self.sizes)
            return None if number is None else bool(number)
        if isinstance(value, (Open, Unknown, External, Tensor)):
            return None
        plain = isinstance(value, (bool, int, float, str, tuple, list, dict, set, type(None)))
        return bool(value) if plain else True

    def global_value(self, name: str, module: HostModule) -> object:
        """What a name stands for that no function defines."""
        key = (str(module.path), name)
        if key not in self.globals:
            self.globals[key] = Unknown(name)
            value = self._global(name, module)
            maker = is_of_maker(self, name) if isinstance(value, (Unknown, External)) else None
            self.globals[key] = named(value, name) if maker is None else maker
        return self.globals[key]

    def _global(self, name: str, module: HostModule) -> object:
        place = self.modules.defining(module, name)
        if place is not None:
            there, inner = place
            if there is not module:
                return self.global_value(inner, there)
            if inner in there.functions:
                return Function(there.functions[inner], there)
            if inner in there.classes:
                return Class(there.classes[inner], there)
            return self._deeper(there.values[inner], there)
        own = self.modules.module_named(module, name)
        if own is not None:
            return Module(own)
        base, inner = module.imports.get(name, ("", name))
        return self.external(f"{base}.{inner}" if inner and base else base or inner)

    def _deeper(self, node: ast.expr, module: HostModule) -> object:
        if self.depth >= _DEPTH:
            return Unknown(f"`{ast.unparse(node)}`")
        self.depth += 2
        try:
            return self.read(node, module)
        except Stopped:
            return Unknown(f"`{ast.unparse(node)}`")
        finally:
            self.depth -= 2

    def external(self, dotted: str) -> object:
        """What a dotted name of code that is not read stands for."""
        if dotted in NUMBERS:
            return NUMBERS[dotted]
        answer = surrounding(self, dotted)
        if answer is not None:
            return answer[0]
        dtype = dtype_named(dotted) if dotted.startswith(("torch.", "triton.")) else None
        return dtype or custom_op(dotted, self.modules) or External(dotted)

    def opened(self, value: object, attr: str) -> object:
        """A parameter that is used as a tensor, as that tensor; its shape is asked for where the use needs it."""
        if not isinstance(value, Open):
            return value
        return self.tensor_of(value.name, attr not in _WITHOUT_SHAPE) or value

    def gradient(self, _tensor: Tensor) -> object:
        """The gradient of a tensor where that is one of its own; None where it is like the tensor."""
        return None

    def dim(self, wanted: str, size: int, why: str) -> Size:
        """A dim of this name."""
        if wanted not in self.sizes:
            self.sizes[wanted] = size
            self.say(f"{wanted} is taken to be {size}: {why}")
        return Size(wanted)

    def makes_dims(self, module: HostModule) -> bool:
        """Whether numbers of the function that is being read are examples of sizes."""
        helps = self.test is module and self.dims_down_to > 0 and self.depth <= _HELPERS
        return helps or self.depth <= self.dims_down_to

    def wants(self, value: object, axes: Sequence[str]) -> None:
        """Note that a tensor whose shape is chosen is used with so many axes, by their names or ""."""
        if not (self.chooses and isinstance(value, Tensor) and value.name):
            return
        if len(value.shape or ()) < len(axes) >= len(self.wanted.get(value.name, ())):
            self.wanted[value.name] = tuple(axes)

    def element(self, tensor: Tensor) -> object:
        """The one element of a tensor; of one that is drawn, a number that may be; None where that is not known."""
        one = element_of(tensor)
        drawn = drawn_number(tensor, self.sizes) if one is None else None
        if drawn is not None:
            self.say(f"a number that is drawn at random is taken to be {drawn}")
        return one if one is not None else drawn

    def example(self, value: object) -> object:
        """A number of a test as a dim of its own; the same number is the same dim."""
        if isinstance(value, (tuple, list)):
            return tuple(self.example(v) for v in value)
        return self.example_extent(value) if type(value) is int else value

    def example_extent(self, extent: int | Size) -> int | Size:
        """The same for one extent."""
        if isinstance(extent, Size) or extent <= 1:
            return extent
        name = self.examples.setdefault(extent, f"d{extent}")
        self.sizes[name] = extent
        return Size(name)

    def named_example(self, name: str, number: int) -> int | Size:
        """The same for a number that the test has a name for: a dim of that name, though others are of its size."""
        has_dim = f"d{number}" in self.sizes or self.sizes.get(name, number) != number
        if has_dim or number <= 1:
            dim = self.example_extent(number)
            if isinstance(dim, Size):
                self.called_as.setdefault(dim.text, name)
            return dim
        self.sizes[name] = number
        self.examples.setdefault(number, name)
        return Size(name)

    def example_of(self, extent: int | Size) -> int | Size:
        """An extent, as a dim where a number that was made a dim stands in it.

        One that the test has a name for is that dim wherever the name is used, and nowhere else.
        """
        unnamed = isinstance(extent, int) and self.examples.get(extent) == f"d{extent}"
        return Size(f"d{extent}") if unnamed else extent
