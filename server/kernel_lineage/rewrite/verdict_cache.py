"""Verdicts and unfinished runs of the gate in a repository's cache file. Deleting it loses time, never knowledge."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from kernel_gate.processes.closing import Closing
from kernel_gate.request import GateRequest
from kernel_gate.reuse import OnStage, judge_once
from kernel_gate.verdict import Stage, Verdict
from kernel_lineage.cache_file import open_cache_file
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.rewrite.signed_rows import SignedRows, secret_file, secret_in
from kernel_lineage.skills.library import repository_of

_KEPT_VERDICTS = 500
"""The oldest go first: the raw samples of a verdict take some ten kilobytes."""
_KEPT_STAGES = 200


class VerdictCache(Closing):
    """Implements `kernel_gate.reuse.VerdictStore`. Use it as a context manager."""

    def __init__(self, db: sqlite3.Connection, secret: bytes) -> None:
        self._db = db
        self._verdicts = SignedRows(db, secret, "gate_verdicts", _KEPT_VERDICTS)
        self._stages = SignedRows(db, secret, "gate_stages", _KEPT_STAGES)

    def close(self) -> None:
        self._db.close()

    @property
    def problem(self) -> str | None:
        """Why something was not kept or found, if that happened."""
        return self._verdicts.problem or self._stages.problem

    def verdict(self, key: str) -> Verdict | None:
        """What was kept under a key, if this user's gate wrote it."""
        return self._verdicts.get(Verdict, key)

    def keep_verdict(self, key: str, verdict: Verdict) -> None:
        """Keep a verdict."""
        self._verdicts.put(verdict, key)

    def stages(self, key: str) -> Sequence[Stage]:
        """The stages that an interrupted run had finished, in the order in which they were kept."""
        return [stage for _, stage in self._stages.under(Stage, key)]

    def keep_stage(self, key: str, stage: Stage) -> None:
        """Keep a finished stage."""
        self._stages.put(stage, key, stage.name)

    def forget_stages(self, key: str) -> None:
        """The run has come to its end."""
        self._stages.forget(key)


def judge_cached(
    request: GateRequest,
    near: Path,
    judge: Callable[[GateRequest, OnStage], Verdict],
    say: Callable[[str], None],
) -> Verdict:
    """`judge_once` with the cache of the repository that `near` lies in; without a repository nothing is kept."""
    root = repository_of(near)
    if root is None:
        return judge(request, lambda _stage: None)
    folder = kept_in(root)
    try:
        cache = open_verdict_cache(folder, secret_file(), say)
    except (OSError, sqlite3.Error) as error:
        say(f"The cache in {folder} cannot be used ({error}); nothing is reused or kept.")
        return judge(request, lambda _stage: None)
    with cache:
        verdict = judge_once(request, cache, judge)
        if cache.problem is not None:
            say(cache.problem)
    if verdict.environment.get("reused"):
        made = verdict.environment.get("made")
        say(f"The same question was judged at {made} on the same machine; --no-cache judges it anew.")
    if resumed := verdict.environment.get("resumed"):
        say(f"The run went on where an earlier one was interrupted; {' and '.join(resumed)} had passed.")
    return verdict


def open_verdict_cache(
    folder: Path, secret: Path, say: Callable[[str], None] = lambda _line: None
) -> VerdictCache:
    """The cache in `folder`, made if needed; `say` is told of a damaged one.

    Raises `OSError` or `sqlite3.Error` when it cannot be used.
    """
    key = secret_in(secret)
    db = open_cache_file(folder, lambda db: VerdictCache(db, key), say)
    try:
        return VerdictCache(db, key)
    except BaseException:
        db.close()
        raise
