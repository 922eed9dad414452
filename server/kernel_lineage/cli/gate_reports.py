"""The reports that the gate's commands write beside their answer: the options, and the files."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from kernel_gate.files.writing import write_atomically
from kernel_gate.full_disk import is_full
from kernel_gate.reasons import Reason
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.standing import ExitCode

_FILE = click.Path(dir_okay=False, path_type=Path)
_OPTIONS = (
    click.option("--junit", type=_FILE, help="Write the verdict as JUnit XML."),
    click.option("--sarif", type=_FILE, help="Write it as SARIF 2.1.0, for code scanning."),
    click.option("--html", type=_FILE, help="Write it as one HTML page with plots; needs no network."),
    click.option("--summary", type=_FILE, help="Write it as Markdown."),
    click.option("--comment", type=_FILE, help="Write it as a comment on a change: a line for each kernel."),
    click.option(
        "--github-summary", is_flag=True, help="Append the Markdown to the job's $GITHUB_STEP_SUMMARY."
    ),
    click.option(
        "--evidence",
        type=click.Path(path_type=Path),
        help="Keep the whole verdict (hashes, environment, samples): a .json file, or a folder.",
    ),
)
_FORMATS = ("junit", "sarif", "html", "summary", "comment")
"""Options that are named as the module of `kernel_gate.reporting` that renders them."""


def report_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; their values arrive as keyword arguments for `write_reports`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def write_reports(judged: Sequence[NamedVerdict], **wanted: Any) -> None:
    """Write what was asked for, each file whole or not at all; ends with status 4 when one cannot be written."""
    try:
        for name in _FORMATS:
            if wanted[name] is not None:
                write_atomically(wanted[name], _rendered(name, judged).encode())
        if wanted["github_summary"]:
            _append_summary(_rendered("summary", judged))
        if wanted["evidence"] is not None:
            _keep_evidence(judged, wanted["evidence"])
    except OSError as error:
        if is_full(error):
            reason = f"{Reason.DISK_FULL}: {error}; make room there, or name a file on another disk"
        else:
            reason = f"{error}; name a file where you may write"
        click.echo(f"A report cannot be written: {reason}", err=True)
        sys.exit(ExitCode.ENVIRONMENT)


def relative(path: Path) -> str:
    """A path as reports name it: relative to the working folder when it lies there, with forward slashes."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def _rendered(name: str, judged: Sequence[NamedVerdict]) -> str:
    text: str = importlib.import_module(f"kernel_gate.reporting.{name}").render(judged)
    return text


def _append_summary(text: str) -> None:
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if not target:
        raise OSError("GITHUB_STEP_SUMMARY is not set; outside of GitHub Actions use --summary FILE")
    with Path(target).open("a", encoding="utf-8") as file:
        file.write(text)


def _keep_evidence(judged: Sequence[NamedVerdict], place: Path) -> None:
    if place.suffix == ".json" and len(judged) == 1:
        write_atomically(place, judged[0].verdict.model_dump_json(indent=2).encode())
        return
    if place.suffix == ".json":
        raise OSError(f"{place} is one file for {len(judged)} verdicts; name a folder")
    for one in judged:
        kernel = re.sub(r"[^\w.-]+", "-", one.kernel).strip("-")
        name = f"{kernel}-{one.verdict.outcome}-{one.verdict.inputs_hash[:12]}.json"
        write_atomically(place / name, one.verdict.model_dump_json(indent=2).encode())
