"""`klineage hook`: what a coding agent asks before it edits a file, and after it has used a shell."""

from __future__ import annotations

import json
import signal
import sys

import click

SECONDS = 50
"""Less than what agents wait for: a hook that they give up on would let the edit pass."""
REFUSED = 2
"""The status with which a hook stops the tool; any other failure would let it run."""


@click.command()
def command() -> None:
    """Read an agent's hook call on stdin: refuse the edit of a kernel that no verdict allows.

    Before an editing tool: status 0 lets it run, 2 stops it, with the reason and the command that gates the edit on
    stderr. After a shell: what of the kernels it changed without a verdict, as context. What cannot be decided is
    refused. Claude Code and Gemini CLI call it so; `klineage plugin` writes their settings.
    """
    try:
        _end_in_time()
        message, stops = _answer(sys.stdin.read())
    except Exception as error:  # noqa: BLE001 - whatever went wrong must not let an edit pass
        message, stops = f"Refused: the hook could not decide ({type(error).__name__}: {error}).", True
    finally:
        if hasattr(signal, "SIGALRM"):
            signal.alarm(0)
    if stops:
        click.echo(message, err=True)
        sys.exit(REFUSED)
    if message:
        click.echo(message)


def _end_in_time() -> None:
    def late(_number: int, _frame: object) -> None:
        raise TimeoutError(
            f"not within {SECONDS} s; gate the edit with klineage gate FILE --text NEW --write"
        )

    if hasattr(signal, "SIGALRM"):  # not on Windows
        signal.signal(signal.SIGALRM, late)
        signal.alarm(SECONDS)


def _answer(text: str) -> tuple[str, bool]:
    """What to print, and whether the tool is stopped."""
    from pathlib import Path

    from kernel_lineage.agents.hook.calls import CallError, HookCall, proposed

    call = HookCall.model_validate_json(text)
    if call.when == "after":
        from kernel_lineage.agents.hook.decide import ungated

        context = ungated(Path(call.cwd))
        answer = {"hookEventName": call.hook_event_name, "additionalContext": context}
        return (json.dumps({"hookSpecificOutput": answer}) if context else ""), False
    try:
        edit = proposed(call)
    except CallError as error:
        return f"Refused: {error}.", True
    from kernel_lineage.agents.hook.decide import refusal

    message = refusal(edit)
    return message or "", message is not None
