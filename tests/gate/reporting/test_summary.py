"""The Markdown summary and the terminal's text: outcome, code, figures and remedy; nothing breaks the table."""

from gate.reporting.verdicts import ACCEPTED, ALL, REJECTED
from kernel_gate.reporting import summary, text


def test_a_row_for_every_verdict():
    lines = summary.render(ALL).splitlines()
    assert lines[0] == "## Kernel gate: 3 rejected, 1 right, speed not shown, 1 accepted"
    table = [line for line in lines[2:] if line.startswith("|")][: len(ALL) + 2]
    assert {line.count("|") for line in table} == {10}
    assert table[2] == "| ❌ rejected | `softmax` | ✓ | ✗ | – | – | – |  | `wrong-value` |"
    assert "1.308" not in table[5] and "1.189× (1.185 … 1.193), fast | `faster` |" in table[5]


def test_what_a_program_says_is_quoted_and_not_markup():
    page = summary.render([REJECTED])
    assert "expected &lt;0.012&gt;" in page
    assert "`kernels/soft max.cu:31` against `main:kernels/soft max.cu`" in page


def test_the_terminal_names_the_code_and_the_remedy():
    shown = text.render(REJECTED.verdict)
    assert shown.startswith("rejected: Rejected by check: y[0, 31]")
    assert "\n  wrong-value: An element of an output differs" in shown
    assert shown.endswith("its index, shape and seed repeat the failure.")


def test_the_terminal_shows_every_timed_shape():
    shown = text.render(ACCEPTED.verdict)
    assert "N 4096, C 1024: 1.310× (1.306 … 1.314), 100.0 → 76.3 µs, noise ±0.20%, fast" in shown
    assert "faster:" in shown and "Nothing;" not in shown
