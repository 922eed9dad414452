"""Every message of the server, on a repository whose every word wants to act where an editor shows it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attacks.hostile_words import BANNED, WORDS, hostile_repository
from attacks.wire import Editor

EXACT = {"uri", "newText", "data", "arguments", "candidate", "token"}
"""Fields that an editor uses and does not show."""
OURS = re.compile(r"\]\((command:klineage\.(apply|showLineage|showCards)\?|file://[^()]*/verdicts\.md#)")
"""Links that we make."""


def words(message: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a message that somebody reads, with the field that it is in."""
    if isinstance(message, dict):
        for name, value in message.items():
            if name not in EXACT:
                yield from words(value, name)
    elif isinstance(message, list):
        for value in message:
            yield from words(value, field)
    elif isinstance(message, str):
        yield field, message


def is_page(text: str) -> bool:
    """Whether a text is a page of HTML, which a webview without scripts shows."""
    return text.startswith("<!doctype html>")


pytestmark = pytest.mark.long
"""One conversation with a server that mines and replays serves all."""


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What a session sends that asks for everything that the server shows."""
    folder = tmp_path_factory.mktemp("hostile")
    repository = hostile_repository(folder / "repository")
    environment = {**os.environ, "KLINEAGE_KEEP_IN": str(folder / "kept")}
    editor = Editor(repository, environment)
    editor.keeps = True
    try:
        editor.start(trusted=True, device="emulated", commandLinks=True, hypotheses=True, checkSeconds=WORDS)
        uri = editor.open(repository / "scale.cu")
        at = {"uri": uri, "line": 1, "character": 18}
        assert editor.mined(60) == "ready"
        for line in range(6):
            editor.hover(uri, line, 18)
        editor.command("klineage.lineage", at)
        editor.command("klineage.check", at)
        for page in ("klineage.cards", "klineage.kernels", "klineage.timeline"):
            editor.command(page, at)
        for action in editor.actions(uri, 4, 10):
            if action["title"].startswith(("Faster rows", "Launch bounds")):
                editor.command("klineage.apply", action["command"]["arguments"][0])
        editor.command(
            "klineage.apply", {**at, "kernel": WORDS, "skill": WORDS, "title": WORDS, "by": "assist"}
        )
        editor.hover(uri, 1, 18)  # what can be done is known by now, and named
        editor.command(WORDS, at)
        editor.ask("textDocument/hover", {"textDocument": WORDS})
    finally:
        editor.close()
    return [json.loads(body) for body in editor.received]


def test_the_attack_reaches_pages_menus_messages_and_progress(received: list[dict[str, Any]]):
    seen = {field for message in received for field, text in words(message) if "u202e" in text}
    assert {"title", "message", "markdown"} <= seen, seen
    methods = {message.get("method") for message in received}
    assert {"window/showMessage", "$/progress"} <= methods


def test_no_message_holds_what_acts(received: list[dict[str, Any]]):
    for message in received:
        for field, text in words(message):
            assert not any(b in text for b in (*BANNED, "\x1b")), (field, text)
            left = "" if is_page(text) else OURS.sub("", text)  # Markdown's links are words in HTML
            assert "](" not in left and "<img" not in text and "<script" not in text, (field, text)
            assert "Traceback" not in text, text


def test_pages_run_and_load_nothing(received: list[dict[str, Any]]):
    pages = {text for message in received for _, text in words(message) if is_page(text)}
    assert any("<svg" in page and "u202e" in page for page in pages)  # the lineage
    assert any("A verdict holds for" in page for page in pages)
    for page in pages:
        _runs_and_loads_nothing(page)


def _runs_and_loads_nothing(page: str) -> None:
    tags = re.findall(r"<(\w+)((?:[^<>\"]|\"[^\"]*\")*)>", page)
    assert not {name for name, _ in tags} & {
        "script",
        "iframe",
        "object",
        "embed",
        "img",
        "link",
        "base",
        "form",
    }
    attributes = [a for _, text in tags for a in re.findall(r"([\w:-]+)=\"([^\"]*)\"", text)]
    assert [(n, v) for n, v in attributes if n.startswith("on")] == []
    assert [v for n, v in attributes if n in ("src", "href", "xlink:href", "action") and v[:1] != "#"] == []
    assert re.findall(r"url\((?!#)|@import|</?head>", page) == ["<head>", "</head>"]


def test_the_view_of_pages_has_no_scripts_and_no_sources():
    """`pages.ts` puts this policy behind the page's only `<head>`."""
    view = (Path(__file__).parents[2] / "extension" / "src" / "pages.ts").read_text("utf-8")
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'\"" in view
    assert "enableScripts: false" in view and "localResourceRoots: []" in view
    assert "html.replace('<head>', `<head>${POLICY}`)" in view
