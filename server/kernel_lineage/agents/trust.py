"""The folders whose code may be compiled and run for an agent, as a person has said once: a list in the user's state.

An agent cannot add to it through its tools. Kept by the real path, so that another folder of the same name is another.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from platformdirs import user_state_path
from pydantic import BaseModel, ValidationError

from kernel_gate.files.writing import only_process, write_atomically


class _Trusted(BaseModel):
    folders: list[str] = []


def trusted_folders() -> list[Path]:
    """The folders, in the order in which they were trusted. A list that cannot be read trusts none."""
    try:
        return [Path(folder) for folder in _Trusted.model_validate_json(_place().read_bytes()).folders]
    except (OSError, ValidationError):
        return []


def is_trusted(folder: Path) -> bool:
    """Whether a folder, or one that it lies in, is trusted."""
    real = folder.resolve()
    return any(real.is_relative_to(trusted) for trusted in trusted_folders())


def trust(folder: Path) -> None:
    """Trust a folder and all below it. Raises `OSError`."""
    _change(lambda kept: list(dict.fromkeys([*kept, str(folder.resolve())])))


def forget(folder: Path) -> None:
    """Trust a folder no longer; one that lies in a trusted folder is trusted through that. Raises `OSError`."""
    _change(lambda kept: [one for one in kept if one != str(folder.resolve())])


def _change(new: Callable[[list[str]], list[str]]) -> None:
    place = _place()
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with only_process(place.with_suffix(".lock")):
        kept = new([str(folder) for folder in trusted_folders()])
        write_atomically(place, _Trusted(folders=kept).model_dump_json(indent=2).encode(), 0o600)


def _place() -> Path:
    return user_state_path("kernel-lineage", appauthor=False) / "trusted-folders.json"
