"""The library: skills of several folders, later folders overriding earlier ones by id."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import kernel_lineage
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.skill_file import SkillProblem, read_skill

REPOSITORY_FOLDER = Path(".klineage") / "skills"
"""Where a repository keeps its own skills, relative to its root."""


@dataclass(frozen=True, slots=True)
class Library:
    """The skills at hand, in order of their ids, and what could not be read."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[SkillProblem, ...] = ()

    def get(self, skill_id: str) -> Skill | None:
        """The skill of that id, if there is one."""
        return next((s for s in self.skills if s.id == skill_id), None)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self.skills)


def builtin_folder() -> Path:
    """Where the built-in skills lie: inside an installed package, or beside it in a source tree."""
    package = Path(kernel_lineage.__file__).parent
    installed = package / "builtin_skills"
    return installed if installed.is_dir() else package.parents[1] / "skills"


def load(folder: Path, builtin: bool) -> tuple[tuple[Skill, ...], tuple[SkillProblem, ...]]:
    """All skills of one folder, in order of their ids, and the problems of those that could not be read.

    A folder that does not exist holds no skill. Hidden folders and files beside the skills are passed over.
    """
    skills: list[Skill] = []
    problems: list[SkillProblem] = []
    try:
        folders = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        return (), (SkillProblem(folder, "", f"cannot be read ({error.strerror})"),)
    for path in folders:
        skill, wrong = read_skill(path, builtin)
        problems.extend(wrong)
        if skill is not None:
            skills.append(skill)
    return tuple(skills), tuple(problems)


def library(repository: Path | None = None, extra: Iterable[Path] = ()) -> Library:
    """The built-in skills, overridden by id by those of `extra` folders, then by the repository's own."""
    own = [] if repository is None else [repository / REPOSITORY_FOLDER]
    by_id: dict[str, Skill] = {}
    problems: list[SkillProblem] = []
    for skills, wrong in (_shipped(builtin_folder()), *(load(f, builtin=False) for f in (*extra, *own))):
        by_id.update((s.id, s) for s in skills)
        problems.extend(wrong)
    return Library(tuple(by_id[i] for i in sorted(by_id)), tuple(problems))


@cache
def _shipped(folder: Path) -> tuple[tuple[Skill, ...], tuple[SkillProblem, ...]]:
    """The built-in skills: part of the program, and read once a process as its modules are."""
    return load(folder, builtin=True)


def repository_of(path: Path) -> Path | None:
    """The root of the repository that a path lies in: the nearest folder above with `.klineage` or `.git`."""
    start = path.resolve()
    for folder in (start, *start.parents):
        if (folder / ".klineage").is_dir() or (folder / ".git").exists():
            return folder
    return None


def nearest(skills: Library, skill_id: str) -> str:
    """For a message after an id that does not exist: the nearest one, or how to list them."""
    close = difflib.get_close_matches(skill_id, [s.id for s in skills], n=1)
    return f"; did you mean `{close[0]}`?" if close else "; `klineage skills list` names them"
