"""What a tree view shows: nodes with their words, icons and commands. An editor draws it and adds nothing."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from kernel_lineage.editor.message import Message


class View(StrEnum):
    """A view, or the marks beside the code, by the name in `klineage/changed`."""

    LINEAGE = "lineage"
    SKILLS = "skills"
    RUNS = "runs"
    DEVICES = "devices"
    MARKS = "marks"


class State(StrEnum):
    """Why a tree may be empty; the extension has words and buttons for each (`viewsWelcome`)."""

    READY = "ready"
    UNTRUSTED = "untrusted"
    NO_KERNEL = "no-kernel"
    MINING = "mining"
    NO_REPOSITORY = "no-repository"
    NOT_IN_HISTORY = "not-in-history"
    PROBLEM = "problem"
    """Its `reason` is shown as it is."""


class Link(Message):
    """A command of the editor's with its arguments."""

    command: str
    title: str
    arguments: tuple[Any, ...] = ()


class Node(Message):
    """One row. All of its words are plain text."""

    id: str
    """Another for every node of a tree; the same when the tree is made again."""
    label: str
    description: str = ""
    """Beside the label, in a softer colour."""
    tooltip: str = ""
    icon: str = ""
    """A theme icon, by its name."""
    color: str = ""
    """A theme colour for the icon, by its name."""
    spoken: str = ""
    """What a screen reader says; "" for label and description."""
    kind: str = ""
    """Which commands the row offers."""
    open: Link | None = None
    """What choosing the row does."""
    data: dict[str, Any] = Field(default_factory=dict)
    """For the row's commands."""
    expanded: bool = False
    children: tuple[Node, ...] = ()


class Tree(Message):
    """What `klineage.view` answers."""

    state: State = State.READY
    reason: str = ""
    """Why there is nothing, in words."""
    about: str = ""
    """Beside the view's title: the kernel, or how many there are."""
    nodes: tuple[Node, ...] = ()
