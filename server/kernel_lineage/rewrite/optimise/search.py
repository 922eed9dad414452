"""What a search is about: a kernel, or a host function with all kernels that it launches; and a state of their file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.optimise.proposals import Proposal
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.workloads.files import launched_by, source_of
from kernel_lineage.workloads.programs import launch_after


@dataclass(frozen=True, slots=True)
class Version:
    """A text of the file, and what its candidates have changed of the launch that the workload tells."""

    text: bytes
    launch: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """What each kernel that candidates have given another name is called, by its name in the first text."""
    function: str = ""
    """The host function that is judged: what is asked for, or where candidates have joined kernels that it launches."""

    def after(self, proposal: Proposal) -> Version:
        """What a proposal makes of it."""
        made = proposal.candidate
        function = made.function or self.function
        first = next((name for name, now in self.names.items() if now == made.kernel), made.kernel)
        # How a host function launches its kernels is read from its text.
        launch = {} if function else launch_after(self.launch, made.launch)
        names = {**self.names, first: made.becomes} if made.becomes else self.names
        return Version(proposal.text, launch, names, function)


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched, and how much it may take."""

    path: Path
    name: str
    """The kernel's, or the host function's."""
    text: bytes
    kernels: Mapping[str, Facts]
    """The kernels that may be changed, the one or all that the host function launches, and what is known of each."""
    skills: tuple[Skill, ...]
    seconds: float = 300.0
    device_seconds: float = 300.0
    function: str = ""
    """The host function that is judged, where it is what is searched or is judged in the kernel's place."""

    @property
    def is_open(self) -> bool:
        """Whether any candidate is tried first; else one that joins kernels, where `function` is judged in the place of
        one of them.
        """
        return self.function in ("", self.name)


def kernels_in(search: Search, version: Version) -> Iterator[tuple[Kernel, Facts]]:
    """The kernels of a version that may be changed, with what is known of each. Those that a host function does not
    launch any more are left out.
    """
    source, first = (source_of(search.path, text) for text in (version.text, search.text))
    launched = launched_by(source, search.name) if search.function == search.name else None
    for name, facts in search.kernels.items():
        kernel = source.kernel(version.names.get(name, name))
        before = first.kernel(name)
        if kernel is None or (launched is not None and kernel.name not in launched):
            if launched is None:
                raise ValueError(f"{search.path} holds no kernel {name} after a rewrite")
            continue
        if before is None or kernel.name == name:
            yield kernel, facts
            continue
        # What else the kernel is called now may be another thing than what has that name in the first text.
        new = {p.name for p in kernel.parameters} - {p.name for p in before.parameters}
        kept = {n: f for n in facts if not new & set(WORD.findall(n)) and (f := facts.get(n)) is not None}
        yield kernel, Facts(kept)
