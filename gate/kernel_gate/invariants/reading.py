"""A program's source → its invariants, with what cannot be read named by line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from kernel_gate.invariants.comments import Comment, comments, in_blocks, presumed_lines, states_any
from kernel_gate.invariants.grammar import InvariantError, read_assertion, read_tag
from kernel_gate.invariants.model import Assertion, Mistake, Statements, Tag


def read_statements(
    source: str,
    language: Literal["cuda", "triton"],
    entries: Collection[str] | None = None,
    first_line: int = 1,
) -> tuple[Statements, dict[int, Comment]]:
    """The invariants of a source, and the comment of each assertion by its number.

    What stands in the body of another kernel than `entries` (None: any) is left out. `first_line` is the line of the
    user's file that the source begins with; all lines are that file's.
    """
    tags: list[Tag] = []
    assertions: list[Assertion] = []
    mistakes: list[Mistake] = []
    places: dict[int, Comment] = {}
    if not states_any(source):
        return Statements(), places
    presumed = presumed_lines(source, language, first_line)
    bare = None if entries is None else {entry.rsplit("::", 1)[-1] for entry in entries}
    for comment in comments(source, language):
        line = presumed[comment.line - 1]
        if (
            language == "cuda"
            and bare is not None
            and comment.owner is not None
            and comment.owner not in bare
        ):
            continue
        try:
            if comment.text.startswith("tag") and not comment.text.startswith("tag("):
                tag = read_tag(comment.text)
                tags.append(Tag(line, tag.argument, tag.indices, tag.coordinates))
            elif comment.text.startswith("assert"):
                number = len(assertions)
                assertions.append(_assertion(number, line, comment, presumed))
                places[number] = comment
            else:
                message = (
                    f"`{comment.text}` is no invariant; write `tag …` or `assert …` (docs/invariants.md)"
                )
                mistakes.append(Mistake(line, message))
        except InvariantError as error:
            mistakes.append(Mistake(line, str(error)))
    for number in in_blocks(source) if language == "cuda" else ():
        message = "a block comment states nothing; write it behind `//`, a line for each statement"
        mistakes.append(Mistake(presumed[number - 1], message))
    mistakes += _unknown_names(tags, assertions)
    return Statements(tuple(tags), tuple(assertions), tuple(mistakes)), places


def _assertion(number: int, line: int, comment: Comment, presumed: list[int]) -> Assertion:
    read = read_assertion(comment.text)
    first, last = comment.code_lines
    return Assertion(
        number,
        line,
        (presumed[first - 1], presumed[last - 1]),
        comment.text.removeprefix("assert").strip(),
        read.binding,
        tuple(read.relations),
        tuple(read.operands),
        comment.owner,
    )


def _unknown_names(tags: list[Tag], assertions: list[Assertion]) -> list[Mistake]:
    """Assertions about coordinates that no tag gives, and arguments that are tagged twice."""
    coordinates = list(dict.fromkeys(name for tag in tags for name, _ in tag.coordinates))
    mistakes = []
    for assertion in assertions:
        named = (c.name for r in assertion.relations for c in r.coordinates)
        for name in dict.fromkeys(n for n in named if n not in coordinates):
            have = (
                f"they give {', '.join(coordinates)}"
                if coordinates
                else "there is none: add `// klineage: tag NAME[i][k]`"
            )
            mistakes.append(Mistake(assertion.line, f"no tag gives a coordinate `{name}`; {have}"))
    first: dict[str, Tag] = {}
    for tag in tags:
        earlier = first.setdefault(tag.argument, tag)
        if (earlier.indices, earlier.coordinates) != (tag.indices, tag.coordinates):
            message = f"{tag.argument} is tagged otherwise in line {earlier.line}; leave one of the two"
            mistakes.append(Mistake(tag.line, message))
    return mistakes
