"""An editor's session for interruptions: open, hover, edit, offer, apply. It says what came of it.

Its server is a process below this one, and what the server starts is below that: an interruption hits any of them.
A server that was ended is started anew, as an editor does, and the session goes on.
"""

# Its result is what it prints.
# ruff: noqa: T201

import json
import os
import random
import signal
from pathlib import Path

from attacks.wire import Editor, ServerEndedError

EDITS = 30


def one_session(path: Path) -> list[object]:
    """The outcome of the application, and how many edits the server made by itself."""
    editor = Editor(path.parent, dict(os.environ), stderr=2)
    try:
        editor.start(trusted=True, device="emulated")
        text = path.read_text("utf-8")
        uri = editor.open(path, text)
        chance = random.Random(5)
        for version in range(2, EDITS + 2):
            line = chance.randrange(4)
            at = {"line": line, "character": 0}
            change = {"range": {"start": at, "end": at}, "text": f"// {version}\n"}
            identifier = {"uri": uri, "version": version}
            editor.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
            editor.hover(uri, line + 1, 18)
        whole = {"uri": uri, "version": EDITS + 2}
        editor.notify("textDocument/didChange", {"textDocument": whole, "contentChanges": [{"text": text}]})
        line = text[: text.index("out[i]")].count("\n")
        offered = [a for a in editor.actions(uri, line, 10) if a["title"].startswith("Vectorised row access")]
        argument = offered[0]["command"]["arguments"][0]
        answer = editor.command("klineage.apply", argument)
        outcome = (
            answer.get("result", {}).get("outcome") if "result" in answer else answer["error"]["message"]
        )
        edits = [one for one in editor.asked if one["method"] == "workspace/applyEdit"]
        return [outcome, len(edits)]
    finally:
        editor.close()


def main() -> None:
    """Go through the session, with a new server where one was ended."""
    for _ in range(3):
        try:
            print(json.dumps(one_session(Path.cwd() / "scale.cu")))
            return
        except ServerEndedError:
            continue
    print("no server stays")


signal.signal(signal.SIGINT, signal.SIG_DFL)  # this script's own traceback is none of the product's
main()
