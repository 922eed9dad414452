"""A comment on a change: a line a kernel, what is worst first, and what repeats it; nothing in it is markup."""

from dataclasses import replace

from gate.reporting.verdicts import ACCEPTED, ALL, REJECTED
from kernel_gate.reporting import comment


def test_a_line_for_each_kernel_the_worst_first():
    lines = comment.render(ALL).splitlines()
    assert lines[0] == comment.MARK
    assert lines[1] == "**Kernel gate**: 3 rejected, 1 right, speed not shown, 1 accepted"
    rows = [line for line in lines if line.startswith("| ")][1:]
    assert len(rows) == len(ALL) and {row.count("|") for row in rows} == {6}
    assert rows[0].startswith("| ❌ rejected | `softmax` kernels/soft max.cu:31 | not timed | – |")
    assert (
        rows[-1] == "| ✅ accepted | `rmsnorm` kernels/soft max.cu:20 | 1.189× (1.185 … 1.193), fast | – |  |"
    )


def test_conditions_and_the_command_that_repeats_it():
    stages = [
        s.model_copy(
            update={"details": {**s.details, "conditions": [{"expr": "C % 4 == 0"}, {"expr": "C % 4 == 0"}]}}
        )
        for s in ACCEPTED.verdict.stages
        if s.name in ("check", "profile")
    ]
    verdict = ACCEPTED.verdict.model_copy(update={"stages": stages})
    command = "klineage gate --since main kernels/a.cu --seed 91"
    page = comment.render([replace(ACCEPTED, verdict=verdict, repeat=command)])
    assert f"| C % 4 == 0 | `{command}` |" in page and "<details>" not in page


def test_why_is_folded_away_and_quoted():
    page = comment.render([REJECTED])
    assert "<details>" in page and "`wrong-value`: " in page
    assert "expected &lt;0.012&gt;" in page


def test_no_change_is_said_and_many_stay_below_what_a_comment_takes():
    assert "no kernel changed" in comment.render([])
    page = comment.render([REJECTED] * 400)
    assert "350 more" in page and len(page) < 65_536
