"""Whether the workspace is trusted, and the one way to start what reads its configuration or runs its code.

Git, compilers, kernels and oracles run in processes; no other module of the editor starts one. Only the editor says
that a workspace is trusted: no setting does, and what cannot be read does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_gate.processes import jobs
from kernel_gate.processes.jobs import Finished

if TYPE_CHECKING:
    from kernel_gate.worker import Worker
    from kernel_lineage.learning.apart import Processes

__all__ = ["Finished", "Trust", "UntrustedError", "Worker"]

UNTRUSTED = "this workspace is not trusted, so nothing in it is compiled or run"


class UntrustedError(Exception):
    """Something was to be run in a workspace that is not trusted."""

    def __init__(self) -> None:
        super().__init__(UNTRUSTED)


class Trust:
    """Trust in the workspace; not there until the editor has said so."""

    def __init__(self) -> None:
        self.granted = False

    @property
    def refusal(self) -> str | None:
        """Why nothing may be run, for people; None when it may."""
        return None if self.granted else UNTRUSTED

    def require(self) -> None:
        """Raises `UntrustedError` when nothing may be run."""
        if not self.granted:
            raise UntrustedError

    def worker(self) -> Worker:
        """A process that judges. Raises `UntrustedError`."""
        self.require()
        from kernel_gate.worker import Worker  # heavy: the gate

        return Worker()

    def processes(self) -> Processes:
        """Processes for tasks of ours that read the workspace's code and run it. Raises `UntrustedError`."""
        self.require()
        from kernel_lineage.learning.apart import Processes  # heavy: the gate

        return Processes()

    async def run(
        self, command: Sequence[str], *, folder: Path, more: Mapping[str, str] | None = None
    ) -> Finished:
        """`jobs.run`. Raises `UntrustedError`, and `OSError` when the program cannot be started."""
        self.require()
        return await jobs.run(command, folder=folder, more=more)

    async def klineage(
        self,
        *arguments: str,
        folder: Path,
        stdin: bytes = b"",
        more: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        background: bool = False,
    ) -> Finished:
        """Run `klineage ARGUMENTS` with the interpreter of this server. Raises `UntrustedError`."""
        self.require()
        return await jobs.run_python(
            "kernel_lineage",
            *arguments,
            folder=folder,
            stdin=stdin,
            more=more,
            on_line=on_line,
            background=background,
        )
