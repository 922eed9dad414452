"""What is wrong with a workload file, each at its line: what the gate's own reader says, then what the kernel tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from lsprotocol import types

from kernel_gate.workload import Problem, Workload, WorkloadError, parse_workload
from kernel_lineage.editor.diagnostics import SOURCE
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.workload_files.meant import Meant
from kernel_lineage.editor.workload_files.places import Entry, entries, nearest
from kernel_lineage.editor.workload_files.places import Path as Place

_MOST_SHOWN = 50
_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)")
_PLACE = re.compile(r"([a-z_]+)((?:\.\w+|\[\d+\])*): ")
"""How a message that is about several keys begins: `dims.N: `, `profile_dims[0]: `."""
_QUOTED = re.compile(r"`([^`]+)`")


def problems(path: Path, text: Text, meant: Meant) -> list[types.Diagnostic]:
    """The mistakes in a workload's text; none in one that the gate can use as it is."""
    outline = entries(text.data)
    try:
        workload = parse_workload(text.data.decode("utf-8"), name=path.name, folder=path.parent)
    except UnicodeDecodeError:
        return [_problem(text, None, "this is not UTF-8 text; save it as UTF-8")]
    except WorkloadError as error:
        if not error.problems:
            return [_not_toml(text, str(error))]
        shown = error.problems[:_MOST_SHOWN]
        first = [p for p in shown if not _follows(p, shown)]
        return [_problem(text, _entry(text, outline, p.place, p.message), str(p)) for p in first]
    return [
        _problem(text, nearest(outline, place), message, types.DiagnosticSeverity.Warning)
        for place, message in _beside(workload, meant)
    ]


def _follows(problem: Problem, others: Sequence[Problem]) -> bool:
    """Whether a table is wrong only because something in it is: a list is empty without the item that was refused."""
    depth = len(problem.place)
    return any(len(o.place) > depth > 0 and o.place[:depth] == problem.place for o in others)


def _beside(workload: Workload, meant: Meant) -> Iterator[tuple[Place, str]]:
    """What the workload says otherwise than the kernel's own parameters do."""
    named = [p.name for p in meant.parameters if not p.constexpr]
    if not named or workload.launches:
        return
    for number, argument in enumerate(workload.args):
        parameter = next((p for p in meant.parameters if p.name == argument.name), None)
        if parameter is None:
            if len(workload.args) == len(named):
                near = get_close_matches(argument.name, named, n=1)
                note = f"; did you mean `{near[0]}`?" if near else f"; they are {', '.join(named)}"
                yield ("args", number, "name"), f"{workload.kernel} has no parameter `{argument.name}`{note}"
        elif parameter.pointer and not argument.is_pointer:
            note = f"`{argument.name}` is a pointer of {workload.kernel} ({parameter.type}), and no scalar"
            yield ("args", number, "kind"), note
        elif parameter.dtype is not None and parameter.dtype != argument.dtype:
            note = f"`{argument.name}` of {workload.kernel} is {parameter.dtype}, not {argument.dtype}"
            yield ("args", number, "dtype"), note


def _entry(text: Text, outline: Sequence[Entry], place: Place, message: str) -> Entry | None:
    """Where a problem is shown: at its key; else at the key that the message names, or that has what it quotes."""
    if not place and (named := _PLACE.match(message)) is not None:
        parts = re.findall(r"\w+", named[2])
        path: Place = (named[1], *(int(p) if p.isdigit() else p for p in parts))
        by_name = _argument(text, outline, path)
        return by_name or nearest(outline, path)
    if not place and (quoted := _QUOTED.search(message)) is not None:
        has = quoted[1].encode()
        return next((e for e in outline if not e.is_table and has in text.data[e.value : e.end]), None)
    return nearest(outline, place)


def _argument(text: Text, outline: Sequence[Entry], path: Place) -> Entry | None:
    """`args.x` by the argument's name."""
    if len(path) < 2 or path[0] != "args" or isinstance(path[1], int):
        return None
    quoted = f'"{path[1]}"'.encode()
    return next(
        (e for e in outline if e.path[-1:] == ("name",) and text.data[e.value : e.end] == quoted), None
    )


def _not_toml(text: Text, message: str) -> types.Diagnostic:
    at = _AT_LINE.search(message)
    line = int(at[1]) - 1 if at is not None else len(text.line_starts) - 1
    start = text.line_starts[min(line, len(text.line_starts) - 1)]
    reason = _AT_LINE.sub("", message).partition(": ")[2] or message
    return _shown(text, start, _end_of_line(text, start), f"not TOML: {reason}")


def _problem(
    text: Text,
    entry: Entry | None,
    message: str,
    severity: types.DiagnosticSeverity = types.DiagnosticSeverity.Error,
) -> types.Diagnostic:
    start, end = (0, _end_of_line(text, 0)) if entry is None else (entry.start, entry.end)
    return _shown(text, start, min(end, _end_of_line(text, start)), message, severity)


def _shown(
    text: Text,
    start: int,
    end: int,
    message: str,
    severity: types.DiagnosticSeverity = types.DiagnosticSeverity.Error,
) -> types.Diagnostic:
    place = types.Range(text.position(start), text.position(end))
    return types.Diagnostic(place, message, severity=severity, source=SOURCE)


def _end_of_line(text: Text, start: int) -> int:
    end = text.data.find(b"\n", start)
    return len(text.data) if end < 0 else end
