"""Drafted workloads in a repository's cache file, with what they see of wrong kernels: the second search drafts none.

Deleting the file loses time, never knowledge. A draft is kept by the text of the kernel's file, by size and time of all
files that drafting may read beside it, and by what drafts and judges it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import BaseModel

import kernel_lineage
from kernel_gate.evidence import toolchain
from kernel_gate.files.reading import read_file
from kernel_gate.workload import Workload
from kernel_lineage.cache_file import open_cache_file
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.rewrite.signed_rows import SignedRows, secret_file, secret_in
from kernel_lineage.skills.library import repository_of
from kernel_lineage.workloads.files_below import files_below
from kernel_lineage.workloads.on_the_spot import SpotWorkload, saved_workload, workload_on_the_spot
from kernel_lineage.workloads.proof import Proof

_KEPT_DRAFTS = 500
_READ = (".cu", ".cuh", ".h", ".hpp", ".cc", ".cpp", ".inl", ".c", ".py")
"""Endings of files that drafting may read."""
_DRAFTING = ("code", "kernels", "proofs", "workloads")
"""The packages that a draft comes from."""


class _Kept(BaseModel, frozen=True):
    """A draft that sees wrong kernels."""

    workload: Workload
    assumed: tuple[str, ...]
    proof: Proof


def workload_of(path: Path, name: str, *, record: bool, say: Callable[[str], None]) -> SpotWorkload:
    """The repository's workload of a kernel or a host function, else a draft, which is made once for what it is read
    from. `say` is told when one is made, and where nothing can be kept. Raises as `workload_on_the_spot` does.
    """
    saved = saved_workload(path, name)
    if saved is not None:
        return saved

    def drafted() -> SpotWorkload:
        say(f"{name}: drafting a workload")
        return workload_on_the_spot(path, name, "emulated", record=record)

    root = repository_of(path)
    if root is None:
        return drafted()
    try:
        folder, key = kept_in(root), _key(root, path, name, record=record)
        secret = secret_in(secret_file())
        db = open_cache_file(folder, lambda db: SignedRows(db, secret, "drafts", _KEPT_DRAFTS), say)
    except (OSError, sqlite3.Error) as error:
        say(f"The cache of {root} cannot be used ({error}); no draft is kept.")
        return drafted()
    with closing(db):
        rows = SignedRows(db, secret, "drafts", _KEPT_DRAFTS)
        kept = rows.get(_Kept, key)
        if kept is not None:
            return SpotWorkload(kept.workload, None, kept.assumed, kept.proof, is_kept=True)
        spot = drafted()
        proof = spot.proof
        if proof is not None and proof.is_whole and not proof.blind:
            # The texts of mutants are large, and nothing asks for them afterwards.
            tried = tuple(replace(t, mutant=replace(t.mutant, source=b"")) for t in proof.tried)
            document = _Kept(workload=spot.workload, assumed=spot.assumed, proof=replace(proof, tried=tried))
            rows.put(document, key)
        if rows.problem is not None:
            say(rows.problem)
        return spot


def _key(root: Path, path: Path, name: str, *, record: bool) -> str:
    beside = []
    for file in files_below(root.resolve(), _READ):
        status = file.stat()
        beside.append([str(file.relative_to(root.resolve())), status.st_size, status.st_mtime_ns])
    question = {
        "kernel": name,
        "file": str(path.resolve()),
        "text": hashlib.sha256(read_file(path)).hexdigest(),
        "beside": beside,
        "record": record,
        "toolchain": toolchain(),
        "drafting": _drafting_hash(),
    }
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()


@cache
def _drafting_hash() -> str:
    """SHA-256 over the source files that draft: which drafting it was, whatever its version says."""
    top = Path(kernel_lineage.__file__).parent
    whole = hashlib.sha256()
    for package in _DRAFTING:
        for path in sorted((top / package).rglob("*.py")):
            whole.update(path.relative_to(top).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()
