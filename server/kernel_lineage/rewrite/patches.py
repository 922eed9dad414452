"""Candidates that were not applied, kept as patches with what is known of them, in the repository's cache folder."""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path

from kernel_gate.files.writing import write_atomically
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.rewrite.document import ApplyDocument

FOLDER = "candidates"


def unified_diff(before: bytes, after: bytes, path: str) -> str:
    """A patch that `git apply` takes. Bytes that are not UTF-8 come back as they were."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}", lineterm="\n")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(data: bytes) -> list[str]:
    """Lines by line feed only: a carriage return or a form feed is part of its line, as git has it."""
    text = data.decode("utf-8", "surrogateescape")
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def keep_candidate(root: Path, path: str, before: bytes, after: bytes, document: ApplyDocument) -> Path:
    """Write the patch and, beside it, the document with the verdict. Gives the patch's path.

    The name comes from the candidate's contents, so that the same candidate is kept once.
    """
    patch = unified_diff(before, after, path).encode("utf-8", "surrogateescape")
    name = f"{document.skill}-{document.kernel}-{hashlib.sha256(patch).hexdigest()[:10]}"
    target = kept_in(root) / FOLDER / f"{name}.patch"
    write_atomically(target, patch)
    record = document.model_copy(update={"patch": str(target)})
    write_atomically(target.with_suffix(".json"), record.model_dump_json(indent=2).encode() + b"\n")
    return target
