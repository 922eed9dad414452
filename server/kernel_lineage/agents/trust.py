"""The folders whose code may be compiled and run for an agent, as a person has said once: a list in the user's state.

With each folder stands what an agent's own edit of a kernel needs there: an accepted verdict, or one that it is right
as far as it was checked, for machines that time nothing. An agent cannot add to the list through its tools. Kept by
the real path, so that another folder of the same name is another.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from platformdirs import user_state_path
from pydantic import BaseModel, Field, ValidationError

from kernel_gate.files.writing import only_process, write_atomically

Enough = Literal["accepted", "right"]


class _Trusted(BaseModel):
    folders: dict[str, Enough] = Field(default_factory=dict)


def trusted_folders() -> dict[Path, Enough]:
    """The folders, each with what an edit needs there. A list that cannot be read trusts none."""
    try:
        kept = _Trusted.model_validate_json(_place().read_bytes())
    except (OSError, ValidationError):
        return {}
    return {Path(folder): enough for folder, enough in kept.folders.items()}


def enough_in(folder: Path) -> Enough:
    """What an edit needs in a folder: what the nearest trusted one around it says, else `accepted`."""
    real = folder.resolve()
    around = [trusted for trusted in trusted_folders() if real.is_relative_to(trusted)]
    return trusted_folders()[max(around, key=lambda f: len(f.parts))] if around else "accepted"


def is_trusted(folder: Path) -> bool:
    """Whether a folder, or one that it lies in, is trusted."""
    real = folder.resolve()
    return any(real.is_relative_to(trusted) for trusted in trusted_folders())


def trust(folder: Path, enough: Enough = "accepted") -> None:
    """Trust a folder and all below it. Raises `OSError`."""
    _change(lambda kept: {**kept, folder.resolve(): enough})


def forget(folder: Path) -> None:
    """Trust a folder no longer; one that lies in a trusted folder is trusted through that. Raises `OSError`."""
    _change(lambda kept: {one: enough for one, enough in kept.items() if one != folder.resolve()})


def _change(new: Callable[[dict[Path, Enough]], dict[Path, Enough]]) -> None:
    place = _place()
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with only_process(place.with_suffix(".lock")):
        kept = {str(folder): enough for folder, enough in new(trusted_folders()).items()}
        write_atomically(place, _Trusted(folders=kept).model_dump_json(indent=2).encode(), 0o600)


def _place() -> Path:
    return user_state_path("kernel-lineage", appauthor=False) / "trusted-folders.json"
