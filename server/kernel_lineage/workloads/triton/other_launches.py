"""The launches of a Triton kernel that its callers make beside the one that a workload describes.

Tests go through dtypes, wrappers through flags (`HAS_BIAS` compiles code that a launch without it does not have), and
both through strides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.dtypes import DTYPES
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.layouts import dims_at, other_numbers, workload_of_launch
from kernel_lineage.workloads.model import Draft, View
from kernel_lineage.workloads.state import State
from kernel_lineage.workloads.triton.draft import drafts_of_callers

_WORDS = frozenset({"True", "False", "None"})


@dataclass(frozen=True, slots=True)
class _Form:
    """What a kernel is compiled for, but for sizes."""

    dtypes: Mapping[str, str]
    """Buffer → its dtype."""
    flags: Mapping[str, str]
    """Constexpr parameter that is no number → what it is."""

    def differs_from(self, other: _Form) -> dict[str, str]:
        """What the other form has differently, in the words of this one."""
        dtypes = {n: t for n, t in self.dtypes.items() if t != other.dtypes.get(n, t)}
        return dtypes | {n: f"= {v}" for n, v in self.flags.items() if v != other.flags.get(n)}


def other_launches(
    path: Path, kernel: Kernel, workload: Workload, state: State, most: int
) -> Iterator[tuple[str, Workload | str, Mapping[str, View]]]:
    """What callers launch with other dtypes, flags or numbers: what it is called, its workload, or why it has none, and
    the tensors of the host that are parts of the memory which the workload gives.

    Those with other flags come first: they compile other code. Then one with other strides, before other dtypes.
    """
    if workload.launches:
        return
    spec = workload.launch.spec()
    own = _Form({a.name: a.dtype for a in workload.args if a.is_pointer}, _flags(spec.constexpr))
    forms: dict[str, tuple[Draft, _Form]] = {}
    flagged: list[str] = []
    laid_out: dict[frozenset[str], str] = {}
    typed: list[str] = []
    for draft in drafts_of_callers(kernel, path, state.modules):
        form = _Form(
            {a.name: a.dtype for a in draft.arguments if a.is_buffer and a.dtype}, _flags(draft.constexpr)
        )
        numbers = other_numbers(workload, draft)
        changed = {**form.differs_from(own), **{n: f"= {v}" for n, v in numbers.items()}}
        name = _called(kernel.name, changed)
        if not changed or name in forms:
            continue
        forms[name] = draft, form
        if form.flags != own.flags:
            flagged.append(name)
        elif numbers:
            laid_out.setdefault(frozenset(numbers), name)
        else:
            typed.append(name)
    # What nothing tells of a launch may be of another type than is taken.
    typed.sort(key=lambda one: bool(forms[one][0].missing))
    for name in [*flagged[:1], *laid_out.values(), *typed, *flagged[1:]][:most]:
        draft, form = forms[name]
        if name in typed:
            yield name, _typed(workload, draft, form), {}
        else:
            views = {a.name: a.view for a in draft.arguments if a.view is not None}
            yield name, workload_of_launch(draft, kernel, path, state), views


def _flags(constexpr: Mapping[str, str]) -> dict[str, str]:
    return {n: v for n, v in constexpr.items() if v in _WORDS or v[:1] in ("'", '"')}


def _called(kernel: str, changed: Mapping[str, str]) -> str:
    """`rows in float16`, `rows with HAS_BIAS = True`."""
    dtypes = {n: v for n, v in changed.items() if not v.startswith("=")}
    flags = [f"{n} {v}" for n, v in changed.items() if n not in dtypes]
    is_one = len(dtypes) > 1 and len(set(dtypes.values())) == 1
    types = [] if is_one else [f"{n} in {v}" for n, v in dtypes.items()]
    typed = f" in {min(dtypes.values())}" if is_one else ""
    return f"{kernel}{typed}" + (f" with {', '.join((*types, *flags))}" if types or flags else "")


def _typed(workload: Workload, draft: Draft, form: _Form) -> Workload | str:
    """The workload with the dtypes of a form, timed at the sizes of its launch, as far as they are told."""
    for argument in workload.args:
        dtype = form.dtypes.get(argument.name, argument.dtype)
        if DTYPES[dtype].is_float != DTYPES[argument.dtype].is_float:
            return f"{argument.name} is {argument.dtype} in the workload, and {dtype} elsewhere"
    args = tuple(a.model_copy(update={"dtype": form.dtypes.get(a.name, a.dtype)}) for a in workload.args)
    sizes = dict(dims_at(workload, draft))
    timed = (sizes,) if sizes.keys() == workload.dims.keys() else ()
    return workload.model_copy(update={"args": args, "profile_dims": timed})
