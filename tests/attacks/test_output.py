"""What comes from outside does nothing where it is shown but be read."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from history.repositories import NAIVE, Step, make_repository
from kernel_gate.cleaning import CleanStream, cleaned
from kernel_gate.reasons import Reason
from kernel_gate.reporting import summary
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.verdict import Outcome, Verdict
from kernel_lineage.cli.live_line import show_line
from kernel_lineage.cli.terminal import console

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp\u2066\u200b\U000e0041<img src=x onerror=alert(1)>\r"
BANNED = ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\u200b", "\U000e0041", "\r")


@pytest.mark.parametrize("sink", ["terminal", "markdown", "html", "xml", "log"])
def test_no_sink_gets_what_acts_on_it(sink):
    text = cleaned(HOSTILE, sink)
    assert not any(c in text for c in BANNED)
    assert "\\u001b" in text and "\\u202e" in text
    assert sink in {"terminal", "log"} or "<" not in text


def test_words_of_every_language_stay_as_they_are():
    for text in ("naïve 行 カーネル ядро نواة", "a\tb\nc", "µ × → ✓ 👍"):
        assert cleaned(text, "terminal") == text


def test_a_document_stays_the_same_document():
    document = json.dumps({"name": HOSTILE + "\x7f"}, ensure_ascii=False)
    assert json.loads(cleaned(document, "terminal")) == json.loads(document)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_our_colours_and_none_of_a_kernels_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", CleanStream(screen))
    monkeypatch.setattr("sys.stderr", CleanStream(screen))
    console().print("\x1b[31mred" + HOSTILE, style="bold")
    sys.stdout.write("\x1b[31mred" + HOSTILE)
    show_line("\x1b[31mred" + HOSTILE)
    printed = screen.getvalue()
    assert "\x1b[1m" in printed and "\r\x1b[K" in printed
    assert not any(banned in printed for banned in ("\x1b[31m", "\x1b]", "\x1b[2J", *BANNED[1:-1]))


@pytest.mark.long
@pytest.mark.parametrize("form", [[], ["--json"], ["--kernel", "scale_kernel1"]])
def test_a_commit_subject_reaches_no_pipe_as_an_escape_sequence(tmp_path: Path, form: list[str]):
    steps = [
        Step("add", {"a.cu": NAIVE}),
        Step("fast\x1b[2J\x9b\u202e", {"a.cu": NAIVE.replace("i <", "1 + i <")}),
    ]
    make_repository(tmp_path / "r", steps)
    command = [sys.executable, "-m", "kernel_lineage", "mine", str(tmp_path / "r"), "--jobs", "1", *form]
    done = subprocess.run(command, capture_output=True, timeout=60)
    printed = (done.stdout + done.stderr).decode()
    assert done.returncode == 0 and not any(c in printed for c in ("\x1b", "\x9b", "\u202e")), printed
    assert "--json" not in form or json.loads(done.stdout)


@pytest.mark.long
def test_an_error_that_quotes_a_name_is_cleaned():
    command = [sys.executable, "-m", "kernel_lineage", "applicable", "no\u202efile.cu:k"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 2 and b"no\\u202efile.cu" in done.stderr


def test_a_summary_holds_no_markup_of_a_stranger():
    verdict = Verdict(
        outcome=Outcome.REJECTED, code=Reason.NOT_FASTER, reason=HOSTILE, stages=[], inputs_hash="ab"
    )
    text = summary.render(
        [NamedVerdict(kernel=HOSTILE, verdict=verdict, candidate=HOSTILE, baseline=HOSTILE)]
    )
    assert not any(c in text for c in BANNED)
    assert "<img" not in text.replace("\\<img", "")
