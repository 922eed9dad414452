"""Every sink, gone over with a repository whose every word wants to act where it is shown."""

from __future__ import annotations

import ast
import io
import json
import logging
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest

import kernel_gate
import kernel_lineage
from attacks import hostile_words
from attacks.hostile_words import BANNED, WORDS, hostile_repository
from kernel_gate.cleaning import CleanFormatter
from kernel_gate.reasons import Reason
from kernel_gate.reporting import html, junit, sarif, summary
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.cli import commands
from kernel_lineage.cli.main import main

PACKAGES = [Path(p.__file__).parent for p in (kernel_gate, kernel_lineage) if p.__file__]
EMULATED = ("--device", "emulated")
ASKED: dict[str, list[tuple[str, ...]]] = {
    "applicable": [("scale.cu",), ("scale.cu", "--all"), ("scale.cu", "--json")],
    "apply": [
        ("vectorised-row-access", "scale.cu:scale", *EMULATED),
        (WORDS.replace("\x1b", ""), "scale.cu:scale"),
    ],
    "audit": [("submissions", "--html", "audit.html")],
    "check": [("scale.cu",), ("broken.cu",), (f"scale.cu:{WORDS}",)],
    "coverage": [("broken.cu",)],
    "demo": [("scale.cu",)],
    "doctor": [()],
    "gate": [
        ("scale.cu", "wrong.cu", "--kernel", "scale", *EMULATED, "--junit", "j.xml", "--sarif", "s.json"),
        (
            "scale.cu",
            "quick.cu",
            "--kernel",
            "scale",
            *EMULATED,
            "--workload",
            "oracle.toml",
            "--html",
            "v.html",
        ),
        (
            "scale.cu",
            "broken.cu",
            "--kernel",
            "scale",
            "--candidate-kernel",
            "broken",
            *EMULATED,
            "--summary",
            "s.md",
        ),
        ("scale.cu", "quick.cu", "--kernel", WORDS, *EMULATED),
        ("scale.cu", "quick.cu", "--workload", "unreadable.toml", *EMULATED),
    ],
    "hook": [()],
    "judge": [(WORDS,)],
    "mcp": [(WORDS,)],
    "mine": [(".", "--jobs", "1"), (".", "--kernel", "scale"), (".", "--kernel", WORDS), (".", "--json")],
    "optimise": [("scale.cu:scale", *EMULATED, "--seconds", "1")],
    "plugin": [(WORDS,), ("claude", "--into", "plugin")],
    "prove": [("scale.cu:scale",), (f"scale.cu:{WORDS}",)],
    "replay": [(".", *EMULATED, "--no-learn", "--limit", "1")],
    "report": [(".", "-o", "r.html"), (".", "--svg", "--kernel", "scale", "-o", "r.svg")],
    "schema": [("mine",), (WORDS,)],
    "sent": [()],
    "serve": [("--stdio", WORDS)],
    "skills": [("list",), ("show", "hostile"), ("check", ".klineage/skills"), ("show", WORDS)],
    "trust": [("--list",), (WORDS,)],
    "walk": [("scale.cu:scale", *EMULATED, "--most", "1", "--workload", "oracle.toml")],
    "workload": [
        ("init", "scale.cu:scale", "--out", "w.toml", "--mutants", "1"),
        ("init", f"scale.cu:{WORDS}"),
        ("check", "unreadable.toml"),
    ],
}
"""Every command, with what makes it repeat words of the repository."""
AGENTS_EDIT = json.dumps(
    {
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": "scale.cu", "content": f"// {WORDS}\n__global__ void scale() {{}}\n"},
    }
)
"""What `klineage hook` reads."""


class Terminal(io.StringIO):
    """What a terminal would get."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_repository(tmp_path_factory.mktemp("hostile") / "repository")


def harmful(text: str, *, terminal: bool = False) -> list[str]:
    """What in a text acts on a terminal that shows it; our colours and erased lines pass where there is one."""
    own = re.compile(r"\x1b\[(?!95)[0-9;]*m|\r?\x1b\[[0-9]?[KA]|\x1b\[\?25[lh]")
    left = own.sub("", text) if terminal else text
    return [repr(b) for b in (*BANNED, "\x1b") if b in left] + ["\\r"] * ("\r" in left.replace("\r\n", ""))


def test_every_command_has_its_attack():
    assert set(ASKED) == {m.name for m in pkgutil.iter_modules(commands.__path__)}


SLOW = {"gate", "check", "apply", "optimise", "walk", "workload", "replay", "audit", "coverage"}
"""On a terminal alone: their words take the same way into a pipe, and the drawing is the harder part."""


@pytest.mark.parametrize(
    ("command", "terminal"),
    [(name, True) for name in sorted(ASKED)] + [(name, False) for name in sorted(set(ASKED) - SLOW)],
)
@pytest.mark.long
def test_no_command_says_what_acts(
    repository: Path, monkeypatch: pytest.MonkeyPatch, command: str, terminal: bool
):
    monkeypatch.chdir(repository)
    monkeypatch.setenv("TERM", "xterm-256color")
    texts = []
    for arguments in ASKED[command]:
        out, err = (Terminal(), Terminal()) if terminal else (io.StringIO(), io.StringIO())
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(AGENTS_EDIT.encode())))
        with pytest.raises(SystemExit):
            main([command, *arguments], prog_name="klineage")
        text = out.getvalue() + err.getvalue()
        assert not harmful(text, terminal=terminal), (arguments, harmful(text, terminal=terminal), text)
        assert "Traceback" not in text and "No such option" not in text, (arguments, text)
        texts.append(text)
    if command in {"applicable", "gate", "mine", "skills", "workload"}:
        assert any("\\u202e" in text for text in texts), "the attack has not reached this command"
    for page in [*repository.glob("*.html"), *repository.glob("*.svg"), *repository.glob("*.md")]:
        _check_page(page.read_text("utf-8"), page.suffix)


def _check_page(text: str, suffix: str) -> None:
    assert not harmful(text), (suffix, harmful(text))
    assert "<img" not in text and "alert(1)</script>" not in text
    if suffix == ".svg":
        ET.fromstring(text)


def _verdicts() -> list[NamedVerdict]:
    stages = [
        Stage(name="build", status=StageStatus.PASS, reason=WORDS, details={"log": WORDS, WORDS: WORDS}),
        Stage(
            name="check",
            status=StageStatus.FAIL,
            code=Reason.NAN_MASK_DIFFERS,
            reason=WORDS,
            details={"why": [WORDS]},
        ),
    ]
    verdict = Verdict(
        outcome=Outcome.REJECTED,
        code=Reason.NAN_MASK_DIFFERS,
        reason=WORDS,
        stages=stages,
        environment={"device": {"name": WORDS}, "gate": "1", WORDS: WORDS},
        inputs_hash="ab",
    )
    return [NamedVerdict(kernel=WORDS, verdict=verdict, candidate=WORDS, baseline=WORDS)]


@pytest.mark.parametrize("form", [junit, sarif, html, summary])
def test_no_report_of_verdicts_holds_what_acts(form):
    text = form.render(_verdicts())
    if form is sarif:
        messages = [m["text"] for m in _values(json.loads(text), "message")]
        assert messages and not any(harmful(one) or "](" in one for one in messages)
    if form is junit:
        text += "".join(v for e in ET.fromstring(text).iter() for v in (*e.attrib.values(), e.text or ""))
        assert not harmful(text)
        return
    _check_page(text, "")
    assert form is html or not re.search(r"(?<!\\)\]\(https://evil", text), text


def _values(tree: object, name: str):
    if isinstance(tree, dict):
        yield from (tree[name],) if name in tree else ()
        for value in tree.values():
            yield from _values(value, name)
    elif isinstance(tree, list):
        for value in tree:
            yield from _values(value, name)


def test_log_lines_are_one_line_without_what_acts():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(CleanFormatter("%(message)s"))
    try:
        raise ValueError(WORDS)
    except ValueError as error:
        raised = (type(error), error, error.__traceback__)
    handler.handle(logging.LogRecord("x", logging.ERROR, __file__, 1, "refused: %s", (WORDS + "\n",), raised))
    assert not harmful(stream.getvalue()) and stream.getvalue().count("\n") == 1
    assert "ValueError" in stream.getvalue() and "Traceback" not in stream.getvalue()


# The product's sources: a new sink is one of these, or it is found here.

DRAWING = {"cli/live_line.py", "cli/terminal.py"}
WRITES_ITSELF = {
    "kernel_gate/__main__.py",
    "processes/forked_job.py",
    "processes/seal.py",
    "sandbox/runner.py",
}
"""Processes of ours whose words another process of ours reads."""


def _sources(word: str = "") -> Iterator[tuple[Path, ast.Module]]:
    """The product's files that hold a word."""
    for path in (path for package in PACKAGES for path in sorted(package.rglob("*.py"))):
        if "demo/history" not in path.as_posix() and word in (text := path.read_text("utf-8")):
            yield path, ast.parse(text)


def _is(path: Path, names: set[str]) -> bool:
    return any(path.as_posix().endswith(name) for name in names)


def _called(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_called(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.long
def test_nothing_writes_past_the_cleaning():
    past = []
    for path, tree in _sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name, keywords = _called(node.func), {k.arg for k in node.keywords}
                past += [f"{path}:{node.lineno} {name}"] * any(
                    (
                        name == "print",
                        name.endswith("Console") and not _is(path, DRAWING),
                        re.match(r"sys\.(stdout|stderr)(\.buffer)?\.write", name) and not _is(path, WRITES_ITSELF),
                        name == "uncleaned" and not _is(path, DRAWING | {"kernel_gate/cleaning.py"}),
                        name == "Environment" and not {"autoescape", "finalize"} <= keywords,
                        name in {"Markup", "click.style", "click.secho"},
                        name in {"html.escape", "escape"} and "demo/tour" not in path.as_posix()
                        and not _is(path, {"kernel_gate/cleaning.py"}),
                        name.endswith(("logging.basicConfig",)) and "handlers" not in keywords,
                    )
                )  # fmt: skip
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\x1b" in node.value:
                past += [f"{path}:{node.lineno} an escape sequence"] * (not _is(path, DRAWING))
    assert not past, "\n".join(past)


def test_every_text_that_is_drawn_in_markup_is_ours():
    marked = [str(p) for p, tree in _sources("markup") for n in ast.walk(tree)
              if isinstance(n, ast.keyword) and n.arg == "markup" and ast.unparse(n.value) == "True"]  # fmt: skip
    assert [Path(p).name for p in marked] == ["demo.py"]


def test_click_itself_is_given_the_clean_streams():
    assert isinstance(main, click.Group) and hostile_words.ESCAPES in WORDS
