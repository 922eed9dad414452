"""One skill's folder, read and written (docs/skills-format.md).

Reading never raises on what lies in the folder: it gives the skill, or none, and the problems. Writing is atomic and
deterministic: the same skill gives the same bytes, and a crash leaves the last good state.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
import yaml
from pydantic import BaseModel, Field, ValidationError

from kernel_gate.files.reading import enclosing_repository, read_file
from kernel_gate.files.toml import toml_of
from kernel_gate.files.writing import (
    check_stays,
    half_written_folder,
    write_atomically,
    write_in_repository,
)
from kernel_lineage.kernels.source import Language
from kernel_lineage.skills.card import (
    AnchorRule,
    Condition,
    Evidence,
    NothingToSay,
    Risk,
    Skill,
    SkillLineage,
)
from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.verified import unverified

MAX_BYTES = 1 << 20
"""No file of a card is larger than this; a larger one is refused unread."""

_Model = TypeVar("_Model", bound=BaseModel)
_CUT_VALUE = re.compile(r"^(\w+): *[^\s'\"#].*? #", re.MULTILINE)
"""A key whose value has what YAML takes for a comment."""
_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """Something that is wrong with a skill's folder, and what to do."""

    folder: Path
    file: str
    """Path within the folder."""
    message: str

    def __str__(self) -> str:
        return f"{self.folder / self.file}: {self.message}"


class FrontMatter(BaseModel, frozen=True, extra="forbid", populate_by_name=True):
    """The six keys that the Agent Skills format allows at the head of SKILL.md."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    description: str = Field(min_length=1, max_length=1024)
    license: str = Field(min_length=1)
    compatibility: str | None = Field(default=None, max_length=500)
    metadata: dict[str, str] = Field(default_factory=dict)
    allowed_tools: str | None = Field(default=None, alias="allowed-tools")


class SkillTable(BaseModel, frozen=True, extra="forbid"):
    """The `[skill]` table of conditions.toml."""

    title: str = Field(min_length=1)
    summary: str = Field(min_length=1)
    mechanism: str
    languages: tuple[Language, ...] = Field(min_length=1)
    anchor: AnchorRule
    assist: str | None = None
    provides: tuple[str, ...] = ()
    effect: str = ""


class ConditionsFile(BaseModel, frozen=True, extra="forbid"):
    """conditions.toml."""

    skill: SkillTable
    condition: tuple[Condition, ...] = ()
    nothing_to_say: tuple[NothingToSay, ...] = ()
    risk: tuple[Risk, ...] = ()


class _BadFileError(Exception):
    """A file that cannot be used; the message is for people."""

    def __init__(self, file: str, message: str) -> None:
        super().__init__(message)
        self.file = file


def read_skill(folder: Path, builtin: bool) -> tuple[Skill | None, tuple[SkillProblem, ...]]:
    """The skill in a folder, or None, and what is wrong there. A bad evidence file costs only that evidence."""
    problems: list[SkillProblem] = []
    within = enclosing_repository(folder / "SKILL.md")
    try:
        head, body = _front_matter(_text(folder, "SKILL.md", within))
        card = _parsed_conditions(_text(folder, "conditions.toml", within))
        if head.name != folder.name:
            raise _BadFileError(
                "SKILL.md", f"name is {head.name!r}, the folder is {folder.name!r}; make them the same"
            )
    except _BadFileError as error:
        return None, (SkillProblem(folder, error.file, str(error)),)
    evidence: list[Evidence] = []
    for path in _files(folder / "evidence", ".json"):
        try:
            evidence.append(_json(folder, f"evidence/{path}", Evidence, within))
        except _BadFileError as error:
            problems.append(SkillProblem(folder, error.file, str(error)))
    lineage = None
    if (folder / "lineage.json").exists():
        try:
            lineage = _json(folder, "lineage.json", SkillLineage, within)
        except _BadFileError as error:
            problems.append(SkillProblem(folder, error.file, str(error)))
    skill = Skill(
        **dict(card.skill),
        id=head.name,
        conditions=card.condition,
        nothing_to_say=card.nothing_to_say,
        risk=card.risk,
        carrier=body,
        licence=head.license,
        builtin=builtin,
        evidence=tuple(evidence),
        unverified=() if builtin else unverified(evidence),
        description=head.description,
        lineage=lineage,
        applies=tuple(f"cases/applies/{n}" for n in _files(folder / "cases/applies") if ".before." in n),
        refuses=tuple(f"cases/refuses/{n}" for n in _files(folder / "cases/refuses")),
        folder=folder,
    )
    return skill, tuple(problems)


def _files(folder: Path, suffix: str = "") -> list[str]:
    """Names of the files in a folder, in order; none when there is no folder. Hidden files do not count."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                e.name for e in entries if e.name.endswith(suffix) and e.name[0] != "." and e.is_file()
            )
    except (FileNotFoundError, NotADirectoryError):
        return []


def _text(folder: Path, file: str, within: Path | None) -> str:
    path = folder / file
    try:
        data = read_file(path, within=within, most=MAX_BYTES)
    except FileNotFoundError:
        raise _BadFileError(
            file, "is missing; see docs/skills-format.md for what a skill's folder holds"
        ) from None
    except OSError as error:
        raise _BadFileError(file, f"cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise _BadFileError(file, f"is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def _front_matter(text: str) -> tuple[FrontMatter, str]:
    parts = re.match(r"\A﻿?---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)(.*)\Z", text, re.DOTALL)
    if parts is None:
        raise _BadFileError(
            "SKILL.md", "has no front matter; it begins with a line `---`, the keys, and `---` again"
        )
    try:
        keys: Any = yaml.load(parts[1], Loader=_YAML)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # also of a date that is none
        where = getattr(error, "problem_mark", None)
        at = f"line {where.line + 2}: " if where is not None else ""
        raise _BadFileError(
            "SKILL.md", f"{at}front matter is no YAML ({getattr(error, 'problem', error)})"
        ) from None
    if cut := _CUT_VALUE.search(parts[1]):
        raise _BadFileError("SKILL.md", f"`{cut[1]}` ends before the #: put the value in quotes")
    if not isinstance(keys, dict):
        raise _BadFileError("SKILL.md", "front matter must be keys with values: `name: …`, `description: …`")
    return _validated("SKILL.md", FrontMatter, keys), parts[2].strip()


@lru_cache(maxsize=1024)
def _parsed_conditions(text: str) -> ConditionsFile:
    """The same text is read once: a library is loaded again whenever one of its files changes."""
    file = "conditions.toml"
    try:
        tables = toml_of(text)
    except ValueError as error:  # also of a number of thousands of digits
        raise _BadFileError(file, f"is no TOML ({error})") from None
    card = _validated(file, ConditionsFile, tables)
    for number, condition in enumerate(card.condition, 1):
        try:
            parse(condition.expr)
        except ConditionError as error:
            raise _BadFileError(file, f"condition {number}: {error}") from None
    return card


def _json(folder: Path, file: str, model: type[_Model], within: Path | None) -> _Model:
    text = _text(folder, file, within)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _BadFileError(file, f"is no JSON ({error})") from None
    return _validated(file, model, value)


def _validated(file: str, model: type[_Model], value: Any) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        messages = [f"{'.'.join(map(str, e['loc'])) or 'the file'}: {e['msg']}" for e in error.errors()[:5]]
        raise _BadFileError(file, "; ".join(messages)) from None


def write_skill(library: Path, skill: Skill, cases: Mapping[str, str]) -> Path:
    """Write a skill and its cases (`cases/…` path → text) under a library; gives its folder.

    A new folder appears whole or not at all. In one that exists each file is replaced atomically, and evidence and
    cases that are not named stay: failures are kept. Raises `ValueError` for a case outside `cases/`, and `RefusedFile`
    where a link leads out of the repository.
    """
    contents = {**_contents(skill), **cases}
    for path in cases:
        if not path.startswith("cases/") or ".." in path.split("/"):
            raise ValueError(f"a case lies under cases/: {path}")
    folder = library / skill.id
    check_stays(folder / "SKILL.md")
    library.mkdir(parents=True, exist_ok=True)
    if folder.is_dir():
        for path, text in contents.items():
            write_in_repository(folder / path, text.encode())
        return folder
    with half_written_folder(library, f".{skill.id}.") as temporary:
        made = temporary / skill.id
        for path, text in contents.items():
            write_atomically(made / path, text.encode())
        made.rename(folder)
    return folder


def _contents(skill: Skill) -> dict[str, str]:
    head = {"name": skill.id, "description": skill.description or skill.summary, "license": skill.licence}
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10_000)
    table = SkillTable.model_validate(skill, from_attributes=True)
    card = ConditionsFile(
        skill=table, condition=skill.conditions, nothing_to_say=skill.nothing_to_say, risk=skill.risk
    )
    made = {
        "SKILL.md": f"---\n{front}---\n\n{skill.carrier}\n",
        "conditions.toml": tomli_w.dumps(card.model_dump(mode="json", exclude_defaults=True)),
    }
    if skill.lineage is not None:
        made["lineage.json"] = file_text(skill.lineage)
    for evidence in skill.evidence:
        name, text = evidence_name(evidence), file_text(evidence)
        path, again = f"evidence/{name}", 2
        while made.get(path, text) != text:  # kernels of one name in several files
            path, again = f"evidence/{name.removesuffix('.json')}-{again}.json", again + 1
        made[path] = text
    return made


def evidence_name(evidence: Evidence) -> str:
    """The file name of a piece of evidence: kernel, device and date, so that a later run does not replace it."""
    words = f"{evidence.kernel} {evidence.device} {evidence.date} {evidence.outcome}"
    return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-") + ".json"


def file_text(model: BaseModel) -> str:
    """What a file of evidence or of a lineage holds."""
    return json.dumps(model.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
