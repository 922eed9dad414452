"""A state whose own tests do not reach a kernel, read with the tests of the other state of its step.

A test that came with a step, or after it, calls the same function; what it says of the sizes is as true of the state
before. Only the draft is read so: what is built and run is the state as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from kernel_gate.files.temporary import TemporaryFolder
from kernel_lineage.learning.replay.states import StateOf
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for
from kernel_lineage.workloads.triton.usages import is_test

_FOLDERS = frozenset({"test", "tests", "benchmark", "benchmarks"})


def draft_by_tests_of(state: StateOf, other: StateOf) -> Draft | None:
    """The complete draft of a state's Triton kernel, as the other state's tests reach it; None where they do not."""
    if state.root == other.root:
        return None
    with _read_with_tests_of(state, other) as folder:
        draft = draft_for(State(folder), state.version.path, state.version.symbol, measure=False)
    if isinstance(draft, NoDraft) or not draft.tested:
        return None
    note = f"{state.name} is read with the tests of {other.name}"
    return replace(draft, assumed=(note, *draft.assumed))


@contextmanager
def _read_with_tests_of(state: StateOf, other: StateOf) -> Iterator[Path]:
    """A folder with the Python files of a state, and with the other's tests in the place of its own."""
    with TemporaryFolder("tests", dir=state.root.parent) as name:
        folder = Path(name)
        for path in sorted(state.tree.files):
            if path.endswith(".py") and not _is_of_tests(path):
                _put(state.root / path, folder / path)
        for path in sorted(other.tree.files):
            if path.endswith(".py") and _is_of_tests(path):
                _put(other.root / path, folder / path)
        yield folder


def _put(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, place)
    except OSError:
        shutil.copyfile(file, place)


def _is_of_tests(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(_FOLDERS & set(parts[:-1])) or is_test(Path(path))
