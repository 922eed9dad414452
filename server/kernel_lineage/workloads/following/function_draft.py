"""A workload drafted for a host function over tensors of PyTorch that launches kernels.

Its parameters are the arguments, and what it makes and returns is written. What it launches is read from its statements
whenever it is run; the draft says what its callers give it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from tree_sitter import Node

from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.files import Launcher
from kernel_lineage.workloads.following.bodies import Returned
from kernel_lineage.workloads.following.callers import Caller, Callers, by_callers
from kernel_lineage.workloads.following.copies import Copies
from kernel_lineage.workloads.following.draft import values_of
from kernel_lineage.workloads.following.fields import alias_of, passed
from kernel_lineage.workloads.following.functions import HostCode, HostParameter
from kernel_lineage.workloads.following.gathered import Gathered
from kernel_lineage.workloads.following.launcher import (
    FEW_ROUNDS,
    LAUNCHED_ALONE,
    counts_of_rounds,
    together,
    with_few_rounds,
)
from kernel_lineage.workloads.following.launches import LaunchArgument, Launched, Reached
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.roles import roles_of
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.statements import Follower
from kernel_lineage.workloads.following.torch_work import TorchWork
from kernel_lineage.workloads.following.types import dtype_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    Buffer,
    KernelName,
    NotFollowed,
    Number,
    Opaque,
    Pointer,
    Tensor,
    Value,
    plain,
)
from kernel_lineage.workloads.following.ways import follow_way
from kernel_lineage.workloads.model import UNSHAPED, Draft, DraftArgument, Role

_RESULT = "out"
"""What a result is called that the function has no name for."""
_ONE = ("1",)
_UNUSED_TYPE = "float32"
_MOST_WAYS = 6


def takes_tensors(function: HostCode) -> bool:
    """Whether a function is given tensors of PyTorch."""
    return any("Tensor" in p.type for p in function.parameters)


def tensor_function_drafts(
    launcher: Launcher, unit: Unit, path_name: str, callers_of: Callers
) -> Iterator[Draft]:
    """The drafts of a host function over tensors: by its callers in other languages, by those in its unit, and as
    anybody may call it.
    """
    yield from islice(_drafts(launcher, unit, path_name, callers_of), _MOST_WAYS)


def _drafts(launcher: Launcher, unit: Unit, path_name: str, callers_of: Callers) -> Iterator[Draft]:
    of_kernels = (unit.leading_to(kernel.name) for kernel in launcher.kernels)
    leading = frozenset([launcher.name]).union(*of_kernels)
    functions = [f for f in unit.hosts(launcher.name) if f.of_host and not f.template]
    outer = [f for f in unit.entries(unit.leading_to(launcher.name)) if f not in functions]

    def look(entry: HostCode, caller: Caller | None = None) -> tuple[_Done, Sizes] | None:
        done, sizes = follow_way(unit, launcher.name, leading, entry, caller=caller, follower=_ToItsEnd) or (
            None,
            None,
        )
        return (done, sizes) if isinstance(done, _Done) and sizes is not None else None

    def drafted(done: _Done, sizes: Sizes) -> Draft:
        return _FunctionDraft(launcher, unit, path_name, done, sizes).draft()

    for entry in (*functions, *outer):
        yield from by_callers(callers_of(entry), partial(look, entry), drafted)
    for entry in (*outer, *functions):
        if (way := look(entry)) is not None:
            yield drafted(*way)


@dataclass(frozen=True, slots=True)
class _Done(Launched):
    """A function that was followed to its end: its arguments, all that it launches, and what it gives."""

    did: tuple[Launched | TorchWork, ...] = ()
    gives: Value | None = None

    @property
    def launches(self) -> tuple[Launched, ...]:
        """What it launches, without what torch works out."""
        return tuple(one for one in self.did if isinstance(one, Launched))

    @property
    def parts(self) -> tuple[Launched, ...]:
        return self.launches

    @property
    def numbers(self) -> Iterator[Number]:
        for launch in self.launches:
            yield from launch.numbers


class _ToItsEnd(Copies, Follower):
    """Follows host code up to the end of a function."""

    def __init__(
        self, unit: Unit, sizes: Sizes, kernel: str, leading: frozenset[str], passes: int = 0
    ) -> None:
        super().__init__(unit, sizes, kernel, leading, passes)
        self._did: list[Launched | TorchWork] = []

    def is_wanted(self, _kernel: str, /) -> bool:
        return True

    def _reached(self, launch: Launched) -> Value:
        self._did.append(launch)
        return plain(0)

    def worked_out(self, work: TorchWork) -> Tensor:
        self._did.append(work)
        return super().worked_out(work)

    def _turns(self, body: Node | None, condition: Node | None, update: Node | None, names: Names) -> None:
        """Also what later rounds do: buffers that change places are written then. Their conditions are no promises."""
        super()._turns(body, condition, update, names)
        promises = dict(self.sizes.promises)
        with suppress(NotFollowed):
            for _ in range(1, FEW_ROUNDS if self.leads(body) else 1):
                super()._turns(body, condition, update, names)
        self.sizes.promises = promises

    def entered(self, function: HostCode, names: Names) -> None:
        if function.name != self.kernel:
            return
        arguments = tuple(
            LaunchArgument(names.get(p.name) or Opaque(f"`{p.name}`"), p.name) for p in function.parameters
        )
        self._did, gives = [], None
        try:
            self.run(function.body, names)
        except Returned as returned:
            gives = returned.value
        one = (plain(1),)
        done = _Done(
            KernelName(self.kernel),
            one,
            one,
            plain(0),
            arguments,
            tuple(self.frames),
            tuple(self._did),
            gives,
        )
        raise Reached(done)


@dataclass(slots=True)
class _FunctionDraft:
    """The draft of one way to a call."""

    launcher: Launcher
    unit: Unit
    path_name: str
    done: _Done
    sizes: Sizes
    facts: Gathered = field(init=False)
    rows: set[str] = field(default_factory=set)
    """The extents of tensors that are taken to have one: what is made like them has one too."""

    def draft(self) -> Draft:
        """The draft; what is not told is missing."""
        done, sizes = self.done, self.sizes
        self.facts = facts = Gathered(self.unit, sizes, {}, done)
        function = done.frames[-1].function
        roles, dtypes = self._touched()
        arguments: list[DraftArgument] = []
        own: set[Buffer] = set()
        rounds = counts_of_rounds(function, self.unit)
        for parameter, argument in zip(function.parameters, done.arguments, strict=True):
            if isinstance(argument.value, Tensor):
                buffer = argument.value.buffer
                own.add(buffer)
                arguments.append(
                    self._buffer(
                        parameter.name, argument.value, roles.get(buffer, "input"), dtypes.get(buffer, "")
                    )
                )
            else:
                arguments += self._number(parameter, argument.value, rounds)
        for result in self._results():
            buffer = result.buffer
            if buffer in roles and buffer not in own:
                own.add(buffer)
                taken = {a.name for a in arguments}
                name = next(n for n in (buffer.name, _RESULT, *_numbered(_RESULT)) if n and n not in taken)
                arguments.append(self._buffer(name, result, "output", dtypes.get(buffer, ""), made=True))
        for number in done.numbers:
            facts.expression(number)
        arguments = [*with_few_rounds(tuple(arguments), function, facts)]
        dims, promises = facts.dims(tuple(arguments))
        return Draft(
            self.launcher.name,
            Language.CUDA,
            self.path_name,
            dims,
            dims,
            tuple(arguments),
            *LAUNCHED_ALONE,
            chosen=tuple(n for n in dims if n in sizes.chosen),
            told={n: sizes.lists[n] for n in dims if n in sizes.lists},
            promises=promises,
            assumed=(*sizes.said_of(dims), *facts.said),
            missing=tuple(dict.fromkeys(facts.missing)),
            way=done.frames[0].function.name if len(done.frames) > 1 else "",
        )

    def _results(self) -> Iterator[Tensor]:
        gives = self.done.gives
        listed = gives if isinstance(gives, list) else [gives]
        yield from (v.whole or v for v in listed if isinstance(v, Tensor))

    def _touched(self) -> tuple[dict[Buffer, Role], dict[Buffer, str]]:
        """What the launches, and torch between them, do with each buffer, and the type by which launches take it."""
        roles: dict[Buffer, Role] = {}
        dtypes: dict[Buffer, str] = {}

        def does(buffer: Buffer, role: Role) -> None:
            before: Role | None = "output" if buffer.cleared else roles.get(buffer)
            roles[buffer] = together(before, role) if before is not None else role

        for launch in self.done.did:
            if isinstance(launch, TorchWork):
                for read in launch.tensors:
                    does(read.buffer, "input")
                does(launch.result.buffer, "output")
                dtypes.setdefault(launch.result.buffer, dtype_of(launch.result.dtype) or "")
                continue
            kernel = self.launcher.source.kernel(launch.callee.name)
            of_kernel = roles_of(kernel) if kernel is not None else {}
            for part in passed(kernel, launch, self.unit) if kernel is not None else ():
                value, parameter = part.given.value, part.parameter
                buffer = buffer_at(value)
                if buffer is None:
                    continue
                role = part.role or of_kernel.get(parameter.name, "input")
                does(buffer, role)
                kind = value.dtype if isinstance(value, Pointer) else ""
                dtypes.setdefault(buffer, parameter.dtype or dtype_of(alias_of(kind, self.unit)) or "")
        return roles, dtypes

    def _buffer(
        self, name: str, tensor: Tensor, role: Role, dtype: str, *, made: bool = False
    ) -> DraftArgument:
        facts = self.facts
        kind = dtype_of(alias_of(tensor.dtype, self.unit)) or dtype
        if not kind:
            kind = _UNUSED_TYPE
            facts.said.append(f"{name} is taken to be {_UNUSED_TYPE}: no launch takes it")
        if tensor.rank is None and [*tensor.sizes] == [0]:
            length = tensor.sizes[0].text
            if not self._is_launched(tensor.buffer):
                tensor.rank = 1
                self.rows.add(length)
                facts.said.append(f"{name} is taken to have one extent: nothing tells how many")
            elif made and length in self.rows:
                tensor.rank = 1
        shape = tensor.shape
        if shape is None:
            facts.missing.append(f"{UNSHAPED}{name}: nothing tells its extents")
        texts = (tuple(map(facts.expression, shape)) or _ONE) if shape is not None else None
        values = values_of(name, tensor.buffer, role, kind, facts) if role != "output" else ""
        return DraftArgument(name, role, kind, texts, values, noalias=made)

    def _is_launched(self, buffer: Buffer) -> bool:
        """Whether a launch is given a buffer."""
        return any(
            buffer_at(one.value) is buffer for launch in self.done.launches for one in launch.arguments
        )

    def _number(self, parameter: HostParameter, value: Value, rounds: Set[str]) -> Iterator[DraftArgument]:
        """A number that the function is given: one of the dims, or an argument with its value, as one of `rounds` is;
        nothing for a tensor that is not given, and for what no workload has.
        """
        name, kind = parameter.name, alias_of(parameter.type, self.unit)
        dtype = dtype_of(kind)
        if isinstance(value, Number) and (value.text != name or name in rounds) and dtype is not None:
            yield DraftArgument(name, "scalar", dtype, value=self.facts.expression(value))
        elif isinstance(value, Number):
            self.facts.expression(value)
        elif name and "Stream" not in kind and "stream" not in kind and not isinstance(value, Pointer):
            why = value.why if isinstance(value, Opaque) else "what it is"
            self.facts.missing.append(f"the value of {name}: nothing tells {why}")


def _numbered(name: str) -> Iterator[str]:
    yield from (f"{name}{n}" for n in range(1, 100))
