"""The states of the repository that a walk still needs: each commit's, until the last commit after it was walked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from kernel_lineage.history.model import Commit
from kernel_lineage.history.walk import Tip


class Tips:
    """Gives each commit the state to start from."""

    def __init__(
        self, states: Mapping[str, Tip], commits: Iterable[Commit], files_at: Callable[[str], dict[str, str]]
    ):
        """`states` are of commits walked before; `files_at` gives path → blob for one that was not walked."""
        self._states = dict(states)
        self._files_at = files_at
        self._waiting = Counter(parent for commit in commits for parent in commit.parents)

    def take(self, commit: Commit) -> tuple[Tip, list[Tip]]:
        """The state of the first parent, to be changed, and those of the others."""
        if not commit.parents:
            return Tip(), []
        self._waiting.subtract(commit.parents)
        states = [self._state(parent) for parent in commit.parents]
        first = states[0] if not self._waiting[commit.parents[0]] else states[0].copy()
        for parent in commit.parents:
            if not self._waiting[parent]:
                self._states.pop(parent, None)
        return first, states[1:]

    def put(self, sha: str, tip: Tip) -> None:
        """The state after a commit."""
        self._states[sha] = tip

    def _state(self, sha: str) -> Tip:
        tip = self._states.get(sha)
        if tip is None:
            tip = self._states[sha] = Tip(self._files_at(sha), boundary=sha)
        return tip
