"""What Python code times: what it gives to functions that time it, and what it does between two readings of a clock."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kernel_lineage.workloads.triton.objects import Frame, Function, Instance
from kernel_lineage.workloads.triton.values import Unknown

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader

_TIMES = frozenset(
    {"triton.testing.do_bench", "triton.testing.do_bench_cudagraph", "timeit.timeit", "timeit.repeat"}
)
"""Functions that call what they are given first."""
_CLOCKS = frozenset(
    f"time.{name}{unit}" for name in ("time", "perf_counter", "monotonic") for unit in ("", "_ns")
)
_EVENTS = frozenset({"torch.cuda.Event", "torch.Event"})
_TIMERS = frozenset({"torch.utils.benchmark.Timer", "timeit.Timer"})
_RUNS = frozenset({"timeit", "repeat", "autorange", "blocked_autorange", "adaptive_autorange"})
"""Methods of a timer that run its statement."""
Call = Callable[[object], object]


def timed(
    reader: Reader, name: str, args: list[object], named: Mapping[str, object], call: Call
) -> tuple[object] | None:
    """What a function of a package gives that times others, in a tuple; None for those that do not.

    `call` is how the reader calls a value without arguments.
    """
    what = args[0] if args else named.get("stmt")
    if name in _TIMES and what is not None:
        return (_run(reader, what, named.get("globals"), call),)
    if name in _CLOCKS:
        reader.clocked = not reader.clocked
        return (Unknown("what a clock says"),)
    if name in _EVENTS:
        return (Instance("Event"),)
    if name in _TIMERS and what is not None:
        return (Instance("Timer", {"stmt": what, "globals": named.get("globals")}),)
    return None


def timed_by_object(reader: Reader, of: Instance, name: str, call: Call) -> tuple[object] | None:
    """What a method of an object gives that times others, in a tuple; None for those that do not.

    What lies between two events that are recorded is timed.
    """
    match of:
        case Instance(of="Event") if name == "record":
            reader.clocked = not reader.clocked
            return (None,)
        case Instance(of="Timer", attributes={"stmt": statement, "globals": around}) if name in _RUNS:
            return (_run(reader, statement, around, call),)
    return None


def _run(reader: Reader, what: object, around: object, call: Call) -> Unknown:
    """A function is run and timed, or a text of Python's with the names that it is given."""
    reader.timing += 1
    if not isinstance(what, str):
        call(what)
    elif isinstance(around, dict):
        names = {str(name): value for name, value in around.items()}
        modules = (value.module for value in names.values() if isinstance(value, Function))
        if (module := next(modules, None)) is not None and (tree := _expression(what)) is not None:
            Frame(reader, module, names).evaluate(tree)
    reader.timing -= 1
    return Unknown("how long something takes")


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
