"""Small git repositories of our own kernels, written by `git fast-import`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NAIVE = """\
__global__ void scale_kernel1(float* out, const float* inp, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = inp[i] * factor;
    }
}
"""

FAST_IMPORT_TIME = 1_700_000_000


@dataclass(frozen=True)
class Step:
    """One commit: its message and the files that it writes (None: removes)."""

    message: str
    files: Mapping[str, str | bytes | None]
    parent: int | None = None
    """Index of the step it follows; by default the one before."""
    merges: int | None = None


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """What git prints."""
    done = subprocess.run(
        [
            "git",
            "-C",
            str(folder),
            "-c",
            "user.name=A. Nonymous",
            "-c",
            "user.email=a@example.org",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=check,
    )
    return done.stdout.strip()


def make_repository(
    folder: Path, steps: Sequence[Step], *, bare: bool = False, checkout: bool = True
) -> list[str]:
    """A repository with one commit per step on `main`; gives their ids."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main", *(["--bare"] if bare else []))
    stream = b"".join(_commit(mark, step) for mark, step in enumerate(steps, 1))
    subprocess.run(
        ["git", "-C", str(folder), "fast-import", "--quiet", "--export-marks=marks"], input=stream, check=True
    )
    if steps and not bare and checkout:
        git(folder, "reset", "-q", "--hard", "main")
    marks = dict(line.split() for line in (folder / "marks").read_text().splitlines())
    (folder / "marks").unlink()
    return [marks[f":{mark}"] for mark in range(1, len(steps) + 1)]


def add_commit(folder: Path, message: str, files: Mapping[str, str | None]) -> str:
    """One more commit on what is checked out; gives its id."""
    for path, text in files.items():
        if text is None:
            (folder / path).unlink()
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    git(folder, "add", "-A", "--", *files)
    git(folder, "commit", "-q", "--no-verify", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def _commit(mark: int, step: Step) -> bytes:
    message = step.message.encode()
    out = [f"commit refs/heads/main\nmark :{mark}\n".encode()]
    out.append(f"committer A. Nonymous <a@example.org> {FAST_IMPORT_TIME + 3600 * mark} +0000\n".encode())
    out.append(b"data %d\n%s\n" % (len(message), message))
    parent = step.parent + 1 if step.parent is not None else mark - 1
    if parent:
        out.append(f"from :{parent}\n".encode())
    if step.merges is not None:
        out.append(f"merge :{step.merges + 1}\n".encode())
    for path, text in step.files.items():
        if text is None:
            out.append(f"D {path}\n".encode())
        else:
            data = text if isinstance(text, bytes) else text.encode()
            out.append(f"M 100644 inline {path}\n".encode() + b"data %d\n%s\n" % (len(data), data))
    return b"".join([*out, b"\n"])
