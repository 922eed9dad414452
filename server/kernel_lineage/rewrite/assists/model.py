"""What an assist is: a deterministic rewrite of one kernel at one anchor.

Each file beside this one declares one `ASSIST`; `registry.py` collects them. Its examples are its tests and its
manual page: `tests/rewrite/assists/examples/ID.cu` (`.triton`) holds kernels before and after, and kernels where it
must refuse. Listing calls nothing but the anchor's pattern; `rewrite` is called only when a person or the loop chooses
it, and re-checks everything: the text may have moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import LaunchError

_T = TypeVar("_T")


class Refusal(Exception):  # noqa: N818
    """Why an assist does not apply here, in one line for people; `Assist.rewrite` gives back what a rewrite raises."""

    @property
    def reason(self) -> str:
        """The line."""
        return str(self.args[0])


class MayOverlap(Refusal):
    """The refusal of a rewrite that is right where `__restrict__` promises that pointers do not overlap."""


def attempt(make: Callable[[], _T]) -> _T | Refusal:
    """What is made, or the refusal instead: for rewrites that go on at another place."""
    try:
        return make()
    except Refusal as refusal:
        return refusal
    except LaunchError as error:
        return Refusal(str(error))


def with_alternatives(choices: Iterable[_T], make: Callable[[_T], Candidate]) -> Candidate:
    """The candidate of the first choice, the other choices' as its alternatives."""
    first, *others = (make(choice) for choice in choices)
    return replace(first, alternatives=tuple(others))


@dataclass(frozen=True, slots=True)
class Assist:
    """One deterministic rewrite."""

    title: str
    skill: str
    """The built-in skill that it carries over."""
    pattern: str
    """The anchor pattern that it starts from."""
    make: Callable[[Kernel, Anchor], Candidate]
    """The rewrite itself; raises `Refusal`."""
    id: str = ""
    """The name of its file, verb and object (`vectorise_row_access`), which the registry puts in."""

    def rewrite(self, kernel: Kernel, anchor: Anchor) -> Candidate | Refusal:
        """The candidate at an anchor, or why there is none."""
        return attempt(lambda: self.make(kernel, anchor))

    def candidate(
        self,
        kernel: Kernel,
        edits: Iterable[Edit],
        *,
        explanation: str,
        guarded: bool = False,
        launch: Mapping[str, str] = MappingProxyType({}),
    ) -> Candidate:
        """What the rewrite gives: these edits, in order of the file."""
        return Candidate(
            skill=self.skill,
            kernel=kernel.name,
            edits=tuple(sorted(edits, key=lambda e: e.span.start)),
            by="assist",
            explanation=explanation,
            guarded=guarded,
            launch=dict(launch),
        )
