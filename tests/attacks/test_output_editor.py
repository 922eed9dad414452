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
from kernel_gate.cleaning import without_links
from kernel_lineage.editor.protocol import _readable

EXACT = {"uri", "newText", "candidate", "token"}
"""Fields that an editor uses and does not show."""
SENT_BACK = {"data", "arguments"}
"""Fields that come back to us; the extension shows a title in them while their command runs."""
OURS = re.compile(r"\]\((command:klineage\.(apply|showLineage|showCards)\?|file://[^()]*/verdicts\.md#)")
"""Links that we make."""


def words(message: Any, field: str = "", sent_back: bool = False) -> Iterator[tuple[str, str]]:
    """Every text of a message that somebody reads, with the field that it is in."""
    if isinstance(message, dict):
        for name, value in message.items():
            if name not in EXACT:
                yield from words(value, name, sent_back or name in SENT_BACK)
    elif isinstance(message, list):
        for value in message:
            yield from words(value, field, sent_back)
    elif isinstance(message, str) and (not sent_back or field == "title"):
        yield field, message


def is_page(text: str) -> bool:
    """Whether a text is a page of HTML, which a webview without scripts shows."""
    return text.startswith("<!doctype html>")


pytestmark = pytest.mark.long
"""One conversation with a server that mines and replays serves all."""

LINK = "[Fix it](command:workbench.action.quit)![seen](https://evil.invalid/seen.png)"
"""A notification that shows it runs the command; a hover loads the image."""


@pytest.mark.parametrize(
    "message",
    [
        {"arguments": [{"title": LINK, "uri": "file:///a.cu"}]},
        {"data": {"argument": {"title": LINK}}},
        {"skills": [LINK]},
        {"passed": [LINK]},
        {"tooltip": LINK},
    ],
)
def test_a_title_that_comes_back_and_the_words_of_marks_hold_no_links(message):
    assert "](" not in json.dumps(_readable(message))
    exact = {"arguments": [{"kernel": LINK, "uri": LINK}], "newText": LINK, "candidate": LINK}
    assert _readable(exact) == exact


@pytest.mark.parametrize(
    "address", ["https://evil.invalid/x", "HTTP://evil.invalid", "www.evil.invalid", "me@evil.invalid"]
)
def test_a_bare_address_in_words_of_others_is_no_link_in_markdown(address):
    """Markdown as editors and GitHub read it makes a link of each."""
    assert address not in without_links(f"faster, see {address}.")
    assert without_links("@triton.jit, a://b, row @ column") == "@triton.jit, a://b, row @ column"


@pytest.mark.parametrize(
    "text", ["[x]: a", "> [x]: a", "- [x y]: a", "a\n[x]: a", "[a]b]: a", "[x](a)", "x[1](a)"]
)
def test_an_element_is_no_definition_of_a_link(text):
    """A definition begins its line; `buf[3]:` in a message stays as it is."""
    assert without_links("race on shared buf[3]: two threads") == "race on shared buf[3]: two threads"
    assert not re.search(r"\][:(]", without_links(text))


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
            if action["title"].startswith(("Faster rows", "Streaming hints")):
                editor.command("klineage.apply", action["command"]["arguments"][0])
        editor.command(
            "klineage.apply", {**at, "kernel": WORDS, "skill": WORDS, "title": WORDS, "by": "assist"}
        )
        editor.hover(uri, 1, 18)  # what can be done is known by now, and named
        for view in ("lineage", "skills", "runs", "devices"):
            tree = editor.command("klineage.view", {"view": view, **at})["result"]
            for row in tree["nodes"][:2]:
                asked = {"uri": uri, "kernel": "scale", **row["data"]}
                for command in ("klineage.version", "klineage.commit", "klineage.run"):
                    editor.command(command, asked)
        editor.command("klineage.card", {"skill": "hostile", "uri": uri})
        editor.command("klineage.lineages", {"uri": uri})
        assert editor.command("klineage.marks", {"uri": uri})["result"]
        editor.command("klineage.repair", {**at, "line": 1, "kernel": WORDS, "title": WORDS})
        editor.command("klineage.draftWorkload", {"uri": uri, "kernel": WORDS})
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
            if field == "text":
                continue  # a version's own code, as a document
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
