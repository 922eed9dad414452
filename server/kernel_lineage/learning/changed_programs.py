"""The programs of a changed kernel, or of a host function that launches it, and what a workload is drafted for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_gate.deadline import ends_within
from kernel_gate.program import Program
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.changed_kernels import ChangedKernel, Sighting, host_within
from kernel_lineage.workloads.files import Target, callers_of, source_of, target_in, target_of
from kernel_lineage.workloads.following.functions import PROGRAM
from kernel_lineage.workloads.left_behind import leaves_nothing_behind
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.torch_beside import functions_beside
from kernel_lineage.workloads.triton.joined_modules import hosts_of, joined_text

_MOST_CALLERS = 2
"""So many functions around those that launch a kernel are tried: torch may work beside a call of them."""

if TYPE_CHECKING:
    from kernel_lineage.workloads.completing import InTurn
    from kernel_lineage.workloads.model import Draft

_SECONDS = 20.0
"""What the draft of a host function may take."""


def programs_of(changed: ChangedKernel) -> list[Callable[..., Program]]:
    """What makes the program before a change of a workload, and the one after it. Raises `ProgramError`."""
    texts = [_text(s, h) for s, h in zip((changed.before, changed.after), changed.hosts, strict=True)]
    return [
        partial(
            program_from_file,
            seen.tree.root / (host or seen.path),
            changed.function or seen.kernel.name,
            data=text,
            root=seen.tree.root,
            name=f"{seen.path} ({when})",
            changed_from=texts[0],
            former_root=changed.before.tree.root if seen is changed.after else None,
            former_kernel=changed.before.kernel.name,
            by_host=changed.by_host,
        )
        for seen, when, host, text in zip(
            (changed.before, changed.after), ("before", "after"), changed.hosts, texts, strict=True
        )
    ]


def target_before(changed: ChangedKernel) -> Target:
    """What a workload is drafted for. Raises `ProgramError` for a host function that is not seen to launch kernels."""
    seen, host = changed.before, changed.hosts[0]
    if changed.function and host:
        file = seen.tree.root / host
        return target_in(source_of(file, _text(seen, host)), changed.function, host)
    return target_of(seen.file, changed.function) if changed.function else seen.kernel


def functions_of(changed: ChangedKernel) -> Iterator[ChangedKernel]:
    """A change as one of each host function that launched its kernel, a program's `main` last."""
    for function, *hosts in sorted(dict.fromkeys(_named(changed)), key=lambda one: one[0] == PROGRAM):
        if function:
            yield replace(changed, function=function, hosts=(hosts[0], hosts[1]))


def launchers_of(changed: ChangedKernel) -> set[str]:
    """The host functions that launched a kernel before its change; "" for a launch outside of any."""
    return {launch.launcher or "" for launch in changed.before.kernel.launches}


def drafted_first(changed: ChangedKernel, target: Target) -> tuple[InTurn, Draft]:
    """The drafts of a host function as it is before the change, and the first of them. Raises as drafting does."""
    from kernel_lineage.workloads.completing import InTurn  # heavy: what drafts workloads
    from kernel_lineage.workloads.state import State

    root = changed.before.tree.root
    turn = InTurn(target, root / (changed.hosts[0] or changed.before.path), State(root))
    with ends_within(_SECONDS, of_work=True):
        return turn, turn.first()


def functions_with_scratch(changed: ChangedKernel) -> list[ChangedKernel]:
    """A change as one of each host function that launched its kernel, where these leave nothing behind but what is
    compared, and nothing else launches it; else none.
    """
    from kernel_lineage.workloads.state import State  # heavy: what reads a repository

    launchers, files = launchers_of(changed), set[Path]()
    sources = [one.kernel.source for one in (changed.before, changed.after)]
    if not all(s is not None and all(leaves_nothing_behind(f, s) for f in launchers) for s in sources):
        return []
    for one in (changed.before, changed.after):
        state, name = State(one.tree.root), one.kernel.name
        is_cuda = one.kernel.language is Language.CUDA
        files |= {
            *(
                state.files_launching(name)
                if is_cuda
                else state.modules.mentioning(frozenset([name.encode()]))
            )
        }
        files.discard(one.file.resolve())
    return [] if files else [replace(changed, function=name) for name in sorted(launchers)]


def _named(changed: ChangedKernel) -> Iterator[tuple[str, str, str]]:
    """The host functions, with their files before and after where those are others than the kernel's."""
    before, after = changed.before, changed.after
    launchers = [launch.launcher or "" for launch in before.kernel.launches]
    source = before.kernel.source
    around = callers_of(before.kernel.name, source) if source is not None else []
    around = [name for name in around if name not in launchers]
    changed_source = after.kernel.source
    if around and source is not None and changed_source is not None:
        # What the inner function gives tells nothing where torch makes something else of it around it.
        differ = {*functions_beside(before.kernel.name, source, changed_source, after.kernel.name)}
        if changed_around := [name for name in around if name in differ]:
            launchers, around = [], changed_around[::-1]
    for function in (*launchers, *around[:_MOST_CALLERS]):
        yield function, "", ""
    if before.kernel.language is not Language.TRITON or before.kernel.launches:
        return
    later = {
        function: host_within(file, after.tree)
        for file, function in hosts_of(after.kernel, after.file, after.tree.root)
    }
    for file, function in hosts_of(before.kernel, before.file, before.tree.root):
        if function in later:
            yield function, host_within(file, before.tree), later[function]


def _text(seen: Sighting, host: str) -> bytes | None:
    """The text of a kernel's file, with that of its host function where this is in another one."""
    if not host or host == seen.path:
        return seen.tree.read(seen.path)
    return joined_text(seen.file, seen.tree.root / host, seen.tree.root)
