"""The options that run one case of the check again, and the command line that does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import click

_OWN = frozenset({"--case", "--seed", "--inputs", "--memory"})


def one_case_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--case`, `--inputs` and `--memory`; the seed of the case is the run's."""
    for option in (
        click.option("--memory", default="", help="How the buffers of that case lie, such as x+4 or y=x."),
        click.option(
            "--inputs", default="as declared", help="The inputs of that case, such as 'one-hot rows'."
        ),
        click.option(
            "--case", help="Run one case again, as a failure names it: N=4,C=770. Nothing is accepted then."
        ),
    ):
        command = option(command)
    return command


def repeated(words: Sequence[str], options: str) -> str:
    """The command line of `words` with the options of one case instead of its own."""
    kept, tokens = [], iter(words)
    for word in tokens:
        name, _, value = word.partition("=")
        if name in _OWN:
            if not value:
                next(tokens, None)
            continue
        kept.append(shlex.quote(word))
    return f"klineage {' '.join(kept)} {options}"
