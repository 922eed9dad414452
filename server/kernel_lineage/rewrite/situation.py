"""The situation of a kernel: what its workload, its device and its toolchain tell, as facts with their evidence.

What the source itself says (types, launch sites, mechanisms) is added where conditions are judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from itertools import combinations
from pathlib import Path

from kernel_gate.arguments import Argument
from kernel_gate.expressions import ExpressionError, Number, evaluate
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import with_meanings
from kernel_lineage.rewrite.memory import remembered_facts
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar, StatedPromise
from kernel_lineage.workloads.first_device import device_facts
from kernel_lineage.workloads.saved import FoundWorkload, folder_of, workloads_in


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts, the workload that they came from, and why some facts are not known."""

    facts: Facts
    workload: FoundWorkload | None
    notes: tuple[str, ...] = ()


def situation_of(kernel: Kernel, path: Path, root: Path | None = None, *, device: str = "auto") -> Situation:
    """The situation of a kernel in a file of a repository. `device`: `auto`, `cuda` or `emulated` (no device facts)."""
    folder = root if root is not None else folder_of(path)
    workloads = workloads_in(folder)
    entry = workloads.of(kernel.name, str(path))
    notes = list(workloads.about(kernel.name))
    facts = remembered_facts(folder, kernel)
    if entry is not None:
        facts = facts.merged(workload_facts(entry.workload, _told_as(entry.path, folder)))
    else:
        notes.append(f"no workload in {folder / '.klineage' / 'workloads'} names {kernel.name}")
    if device != "emulated":
        of_device, missing = device_facts()
        facts = facts.merged(of_device)
        if missing:
            notes.append(missing)
    return Situation(facts.merged(toolchain_facts()), entry, tuple(notes))


def facts_here(kernel: Kernel, path: Path, device: str = "auto") -> tuple[Facts, tuple[str, ...]]:
    """The facts of a kernel's situation, and why some are not known."""
    situation = situation_of(kernel, path, device=device)
    return situation.facts, situation.notes


def facts_for(kernel: Kernel, path: Path, root: Path | None = None, *, device: str = "auto") -> Facts:
    """The facts of a kernel's situation."""
    return situation_of(kernel, path, root, device=device).facts


def _told_as(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def workload_facts(workload: Workload, where: str) -> Facts:
    """What a workload states: dimensions, scalars, types, layouts, separate buffers, and the launch."""
    values: dict[str, list[Scalar]] = {}
    shapes = [*workload.shapes(), *workload.profile_dims]
    for dims in shapes:
        for name, value in _of_shape(workload, dims):
            numbers = values.setdefault(name, [])
            if value not in numbers:
                numbers.append(value)
    facts = {
        name: Fact(tuple(numbers), f"{name} is {_listed(numbers)} in {where}", FactSource.WORKLOAD)
        for name, numbers in values.items()
    }
    buffers = [a for a in workload.args if a.is_pointer]
    for argument in workload.args:
        facts[f"dtype({argument.name})"] = Fact(
            (argument.dtype,), f"{argument.name} is {argument.dtype} in {where}", FactSource.WORKLOAD
        )
    for argument in buffers:
        facts[f"contiguous({argument.name})"] = Fact(
            (True,), f"{argument.name} is a row-major buffer in {where}", FactSource.WORKLOAD
        )
        if argument.align is not None:
            evidence = f"{argument.name} is aligned to {argument.align} bytes in {where}"
            facts[f"align({argument.name})"] = Fact((argument.align,), evidence, FactSource.WORKLOAD)
    for one, other in combinations(buffers, 2):
        if other.name in one.may_alias or one.name in other.may_alias:
            continue
        evidence = f"{one.name} and {other.name} are separate buffers in {where}"
        facts[f"noalias({one.name}, {other.name})"] = Fact((True,), evidence, FactSource.WORKLOAD)
    return Facts(facts, tuple(_promises(workload, where)))


def _promises(workload: Workload, where: str) -> Iterable[StatedPromise]:
    """The workload's promises, over dims and over the arguments that are one dim each."""
    named = {a.value: a.name for a in workload.args if a.kind == "scalar" and isinstance(a.value, str)}
    for promise in workload.promises:
        evidence = f"`{promise}` is promised by the workload {where}"
        renamed = with_meanings(promise, named)
        for expr in dict.fromkeys((promise, renamed)):
            yield StatedPromise(expr, evidence)


def _of_shape(workload: Workload, dims: Mapping[str, int]) -> Iterable[tuple[str, Scalar]]:
    names: dict[str, Number] = {**dims, **workload.scalars(dims)}
    for name, text in workload.launch.constexpr.items():
        if (value := _number(text, names)) is not None:
            names[name] = value
    yield from names.items()
    for argument in workload.args:
        if argument.is_pointer:
            yield from _layout(workload, argument, dims)
    for what, extents in (("grid", workload.launch.grid), ("block", workload.launch.block)):
        if what == "block" and workload.language == "triton":
            continue
        for axis, extent in zip("xyz", (*extents, 1, 1), strict=False):
            value = _number(extent, names)
            if value is not None:
                yield f"launch.{what}.{axis}", value
    shared = _number(workload.launch.shared_bytes, names)
    if shared is not None and workload.language == "cuda":
        yield "launch.shared_bytes", shared
    if workload.language == "triton":
        for option in ("num_warps", "num_stages"):
            if (number := _number(getattr(workload.launch, option), names)) is not None:
                yield f"launch.{option}", number


def _layout(workload: Workload, argument: Argument, dims: Mapping[str, int]) -> Iterable[tuple[str, Scalar]]:
    stride = 1
    extents = workload.extents(argument, dims)
    for axis in reversed(range(len(extents))):
        yield f"stride({argument.name}, {axis})", stride
        stride *= extents[axis]
    yield f"elements({argument.name})", stride


def _number(expression: str | float, names: Mapping[str, Number]) -> int | None:
    try:
        value = evaluate(expression, names)
    except (ExpressionError, ArithmeticError):
        return None
    return value if isinstance(value, int) else None


def _listed(values: list[Scalar]) -> str:
    shown = [str(v) for v in values]
    if len(shown) > 6:
        shown = [*shown[:3], f"{len(shown) - 4} others", shown[-1]]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


@cache
def toolchain_facts() -> Facts:
    """The versions of the compilers that the gate would use, from what is installed."""
    facts: dict[str, Fact] = {}
    for name, distribution in (("toolchain.cuda", "nvidia-cuda-nvrtc"), ("toolchain.triton", "triton")):
        try:
            written = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
        version = tuple(int(part) for part in written.split(".")[:2] if part.isdecimal())
        facts[name] = Fact((version,), f"{distribution} {written} is installed", FactSource.TOOLCHAIN)
    return Facts(facts)
