"""What an agent is about to do to which file: the calls of its editing tools, as the texts that they would leave.

The forms are those of Claude Code (Edit, MultiEdit, Write) and Gemini CLI (replace, write_file), which name their
arguments alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from kernel_gate.files.reading import read_file


class CallError(ValueError):
    """The call cannot be understood; the message says why."""


class _Replacement(BaseModel, extra="ignore"):
    old_string: str
    new_string: str
    replace_all: bool = False
    allow_multiple: bool = False
    expected_replacements: int = 1

    def made(self, text: str, path: Path) -> str:
        """The text with the replacement; of several places all, as the most that the tool would change."""
        if self.old_string == "":
            if text:
                raise CallError(f"{path} is not empty, and the edit names no old text")
            return self.new_string
        if self.old_string not in text:
            raise CallError(f"the old text of the edit is not in {path}; read the file again")
        every = self.replace_all or self.allow_multiple or self.expected_replacements > 1
        if not every and text.count(self.old_string) > 1:
            raise CallError(f"the old text of the edit is in {path} several times; give more of it")
        return text.replace(self.old_string, self.new_string)


class _Input(BaseModel, extra="ignore"):
    file_path: str
    content: str | None = None
    edits: list[_Replacement] = Field(default_factory=list)


class HookCall(BaseModel, extra="ignore"):
    """What the agent's hook gets on stdin."""

    hook_event_name: str
    tool_name: str = ""
    tool_input: dict[str, object] = Field(default_factory=dict)
    cwd: str

    @property
    def when(self) -> Literal["before", "after"]:
        """Whether the tool is still to run."""
        return "before" if self.hook_event_name in ("PreToolUse", "BeforeTool") else "after"


@dataclass(frozen=True, slots=True)
class ProposedEdit:
    """A file, and the text that it would have."""

    path: Path
    before: bytes | None
    """None for a file that is not there."""
    text: bytes


def proposed(call: HookCall) -> ProposedEdit:
    """What an editing tool would leave. Raises `CallError`, also for a tool that edits in a way that is not known."""
    try:
        asked = _Input.model_validate(call.tool_input)
        path = (Path(call.cwd) / asked.file_path).resolve()
        before = read_file(path) if path.exists() else None
        if asked.content is not None:
            return ProposedEdit(path, before, asked.content.encode())
        edits = asked.edits or [_Replacement.model_validate(call.tool_input)]
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise CallError(f"{call.tool_name} edits in a way that the hook does not know ({where})") from error
    except OSError as error:
        raise CallError(str(error)) from error
    # Byte for byte, whatever the encoding: what is no UTF-8 comes back as it was.
    text = (before or b"").decode("utf-8", "surrogateescape")
    for edit in edits:
        text = edit.made(text, path)
    return ProposedEdit(path, before, text.encode("utf-8", "surrogateescape"))
