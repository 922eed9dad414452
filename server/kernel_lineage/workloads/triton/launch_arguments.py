"""What a launch gives to each parameter of the kernel, with what its autotuner and its heuristics decide."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.triton.calls import called
from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.objects import Function, Instance, Stopped
from kernel_lineage.workloads.triton.values import Size, Unknown
from kernel_lineage.workloads.triton.ways import Reading

_OPTIONS = ("num_warps", "num_stages")


def given_at(
    kernel: Kernel, own: HostModule, reading: Reading
) -> tuple[dict[str, object], dict[str, object]]:
    """Parameter → what it is given, and option → its value; tuned ones are those of the first configuration."""
    arguments: dict[str, object] = {}
    for parameter in kernel.parameters:
        if parameter.default is not None:
            arguments[parameter.name] = reading.reader.read(
                ast.parse(parameter.default, mode="eval").body, own
            )
    arguments.update(passed_at(kernel, reading))
    # The decorator that is written first is asked first: its configuration is what the next one sees.
    for decorator in kernel.function.decorator_list if kernel.function is not None else ():
        if isinstance(decorator, ast.Call):
            arguments.update(_decided(decorator, arguments, reading, own))
    parameters = {p.name for p in kernel.parameters}
    options = {k: v for k, v in arguments.items() if k not in parameters or k in _OPTIONS}
    return {k: v for k, v in arguments.items() if k in parameters}, options


def passed_at(kernel: Kernel, reading: Reading) -> dict[str, object]:
    """Parameter or option → what the launch itself gives it."""
    values = (value for node in reading.call.args for value in reading.frame.spread(node))
    passed = zip([p.name for p in kernel.parameters], values, strict=False)
    return {**dict(passed), **reading.frame.named(reading.call.keywords)}


def _decided(
    decorator: ast.Call, arguments: Mapping[str, object], reading: Reading, own: HostModule
) -> dict[str, object]:
    """What `@triton.autotune` and `@triton.heuristics` give."""
    last = ast.unparse(decorator.func).rpartition(".")[2]
    parts = [*decorator.args, *(k.value for k in decorator.keywords if k.arg in ("configs", "values"))]
    # A repository may have an autotuner of its own, which takes what Triton's takes.
    tuned = last.endswith("autotune")
    if not (tuned or last == "heuristics") or not parts:
        return {}
    try:
        value = reading.reader.read(parts[0], own)
    except Stopped:
        return {}
    if tuned:
        return _configuration(value, arguments, reading)
    choices: dict[str, object] = {}
    for name, rule in value.items() if isinstance(value, dict) else ():
        if isinstance(rule, Function):
            try:
                choices[str(name)] = called(reading.reader, rule, [{**arguments, **choices}], {})
            except Stopped:
                choices[str(name)] = Unknown(f"the heuristic for {name}")
    return choices


def _configuration(value: object, arguments: Mapping[str, object], reading: Reading) -> dict[str, object]:
    items = [item for item in reading.reader.items_of(value) or () if isinstance(item, Instance)]
    if not items:
        return {}
    number = min(reading.taken.configuration, len(items) - 1)
    which = "the first" if not number else f"number {number + 1}"
    reading.said.append(f"{which} of the autotuner's configurations is taken")
    held = items[number].attributes
    kwargs = held.get("kwargs")
    constants = {k: v for k, v in kwargs.items() if isinstance(k, str)} if isinstance(kwargs, dict) else {}
    if isinstance(hook := held.get("pre_hook"), Function):
        with suppress(Stopped):
            # It gives descriptors their blocks, of what is known when the kernel is compiled.
            called(reading.reader, hook, [{**arguments, **{k: Size(k) for k in constants}}], {})
    return {**constants, **{k: held[k] for k in _OPTIONS if k in held}}
