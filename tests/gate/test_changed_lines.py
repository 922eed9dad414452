"""Two texts beside each other: which lines changed, and which of those fed an element."""

import pytest

from kernel_gate.stages.changed_lines import align, changed_and_fed

BEFORE = "first\nload\nsum += a * b\nstore\nother\n"


@pytest.mark.parametrize(
    ("after", "fed_after", "fed_before", "named"),
    [
        (BEFORE, (4, 3, 2), (4, 3, 2), ()),
        (BEFORE.replace("a * b", "a * c"), (4, 3, 2), (), (3,)),
        (BEFORE.replace("a * b", "a  *  b"), (4, 3, 2), (), ()),
        (BEFORE.replace("other", "another").replace("load", "fetch"), (4, 3, 2), (), (2,)),
        (BEFORE.replace("load", "fetch").replace("store", "put"), (4, 3, 2), (), (4, 2)),
        (BEFORE.replace("sum += a * b\n", ""), (3, 2), (4, 3, 2), (3,)),
        (BEFORE.replace("sum += a * b\n", ""), (3, 2), (4, 2), ()),
        (BEFORE.replace("load\n", "load\n\n\nadded\n"), (7, 6, 5, 2), (), (5,)),
        ('#line 20 "k.cu"\n' + BEFORE.replace("a * b", "a * c"), (23, 22, 21), (), (22,)),
    ],
)
def test_changed_lines_that_fed_an_element_are_named_the_nearest_first(after, fed_after, fed_before, named):
    assert changed_and_fed(align(BEFORE, after), fed_after, fed_before) == named


@pytest.mark.parametrize(
    ("before", "after", "fed", "named"),
    [
        ("float sum = 0.0f;\nuse(sum);", "float sum;\nuse(sum);", (2,), (1,)),
        ("float sum = 0.0f, most;\nuse(sum);", "float sum, most;\nuse(sum);", (2,), (1,)),
        ("float sum = 0.0f;\nuse(other);", "float sum;\nuse(other);", (2,), ()),
        ("least = 1\nuse(least)", "least = 2\nuse(least)", (2,), (1,)),
        ("if (least == 1) a();\nuse(least)", "if (least == 2) a();\nuse(least)", (2,), ()),
    ],
)
def test_a_changed_line_without_instructions_counts_by_the_names_that_it_gives(before, after, fed, named):
    assert changed_and_fed(align(before, after), fed, fed) == named


def test_another_program_is_not_a_changed_one():
    assert not align(BEFORE, "quite\nanother\nkernel\n").alike
    assert align(BEFORE, BEFORE.replace("load", "fetch")).alike
