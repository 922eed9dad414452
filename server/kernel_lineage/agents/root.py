"""The folder that a server was started for: every path of an agent is a file in it, and what is run needs its trust."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp.server.mcpserver.exceptions import ToolError

from kernel_gate.files.reading import RefusedFile, read_file
from kernel_lineage.agents.trust import is_trusted


@dataclass(frozen=True, slots=True)
class Root:
    """A folder, and whether whoever started the server trusts it."""

    folder: Path
    """Real and absolute."""
    trusted: bool = False

    def file(self, path: str) -> Path:
        """A regular file in the folder, links followed. Raises `ToolError`."""
        return self._file(path)[0]

    def text(self, path: str) -> bytes:
        """The contents of `file(path)`. Raises `ToolError`."""
        return self._file(path)[1]

    def relative(self, file: Path) -> str:
        """A file's path as answers name it."""
        return file.relative_to(self.folder).as_posix() if file.is_relative_to(self.folder) else str(file)

    def require_trust(self, what: str) -> None:
        """Raises `ToolError` where nothing may be compiled or run; it says what a person can do."""
        if not self.trusted and not is_trusted(self.folder):
            raise ToolError(
                f"{what} runs code of {self.folder}, which nobody has trusted yet. Ask the person: "
                f"`klineage trust {self.folder}` in a terminal trusts it. applicable_skills works without."
            )

    def _file(self, path: str) -> tuple[Path, bytes]:
        try:
            place = (self.folder / path).resolve()
            if not place.is_relative_to(self.folder):
                raise ToolError(f"{path} leads out of {self.folder}; name a file in it, relative to it")
            return place, read_file(place, within=self.folder)
        except RefusedFile as error:
            raise ToolError(str(error)) from error
        except (OSError, ValueError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or "is no name that a file can have"
            raise ToolError(f"{path}: {why}; paths are relative to {self.folder}") from error
