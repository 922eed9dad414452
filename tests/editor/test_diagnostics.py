"""What stays at its line when a text is edited, and what goes."""

from __future__ import annotations

import pytest
from lsprotocol import types

from kernel_lineage.editor.diagnostics import diagnostics, moved
from kernel_lineage.editor.text import Text
from kernel_lineage.learning.check_document import FindingDocument, RelatedDocument

RACE = FindingDocument(
    line=4,
    message="race",
    severity="error",
    code="race",
    related=[RelatedDocument(line=2, message="the other side")],
)


def finding(line, code=None):
    return FindingDocument(line=line, message="m", severity="error", code=code)


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        ("a\nb\nc\nd\ne\n", (4, 2)),
        ("new\na\nb\nc\nd\ne\n", (5, 3)),
        ("a\nb\nnew\nnew\nc\nd\ne\n", (6, 2)),
        ("a\nb\nd\ne\n", (3, 2)),
        ("a\nb\nc\nd\nE\n", (4, 2)),
        ("a\nb\nc\nD\ne\n", None),
        ("a\nB\nc\nd\ne\n", None),
        ("", None),
    ],
    ids=["nothing", "before", "between", "a line less", "behind", "its line", "the other line", "everything"],
)
def test_an_edit_moves_a_finding_or_ends_it(after, lines):
    kept = moved([RACE], b"a\nb\nc\nd\ne\n", after.encode())
    assert [(f.line, f.related[0].line) for f in kept] == ([] if lines is None else [lines])


def test_a_diagnostic_lies_on_the_code_of_its_line():
    text = Text.of("a\n  b = 😀;  \n", types.PositionEncodingKind.Utf16)
    (diagnostic,) = diagnostics([finding(2)], text, "file:///x.cu")
    assert (diagnostic.range.start, diagnostic.range.end) == (types.Position(1, 2), types.Position(1, 9))


def test_a_line_beyond_the_text_is_its_last():
    text = Text.of("a\nb", types.PositionEncodingKind.Utf16)
    (diagnostic,) = diagnostics([finding(9)], text, "file:///x.cu")
    assert diagnostic.range.start.line == 1


def test_a_code_leads_to_where_it_is_explained():
    text = Text.of("a\nb", types.PositionEncodingKind.Utf16)
    findings = [finding(1, "race"), finding(1, "of-another-tool"), finding(1)]
    race, other, none = diagnostics(findings, text, "file:///x.cu")
    assert race.code_description is not None and "reason-codes.md#L" in race.code_description.href
    assert (other.code_description, none.code_description) == (None, None)
