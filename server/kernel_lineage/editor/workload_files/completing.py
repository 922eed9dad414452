"""What can be written at a place of a workload file: keys, tables, their values, the kernel's names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lsprotocol import types

from kernel_lineage.editor.text import Text
from kernel_lineage.editor.workload_files.meant import Meant
from kernel_lineage.editor.workload_files.places import Entry, Path, entries
from kernel_lineage.editor.workload_files.schema import field_at, fields_at, tables, values_of

_KIND = types.CompletionItemKind
_EXPRESSIONS = {"shape", "value", "grid", "block", "shared_bytes", "reduction", "bytes", "flops", "promises"}
"""Keys whose texts are expressions over dims."""
_NEW_KEY = re.compile(rb"\s*[\w-]*")
_NEW_HEAD = re.compile(rb"\s*\[{1,2}[\w.-]*")
_WORD = re.compile(rb"[\w.]*\Z")


def completions(text: Text, position: types.Position, meant: Meant) -> list[types.CompletionItem]:
    """The items, each replacing what stands of it already."""
    offset = text.offset(position)
    line = text.data[:offset].rpartition(b"\n")[2]
    outline = entries(text.data)
    inside = next((e for e in outline if not e.is_table and e.value <= offset <= e.end), None)
    if inside is None:
        inside = _unfinished(text.data[:offset], line)
    if inside is not None:
        return list(_values(text, offset, inside, outline, meant))
    if _NEW_HEAD.fullmatch(line) is not None:
        start = offset - len(line.lstrip())
        return [_item(text, start, offset, head, _KIND.Struct, detail) for head, detail in tables().items()]
    if _NEW_KEY.fullmatch(line) is None:
        return []
    start = offset - len(line.lstrip())
    table = _table(outline, offset)
    there = {e.path[-1] for e in outline if e.path[:-1] == table and not e.start <= offset <= e.end}
    keys = [
        _item(text, start, offset, f"{key} = ", _KIND.Property, str(field.get("description", "")))
        for key, field in fields_at(table).items()
        if key not in there and (table or not _is_table(key))
    ]
    if not line.strip():
        keys += [_item(text, start, offset, head, _KIND.Struct, detail) for head, detail in tables().items()]
    return keys


def hover(text: Text, position: types.Position) -> types.Hover | None:
    """What the key or the table at a place is for, and what it may be."""
    offset = text.offset(position)
    at = next((e for e in entries(text.data) if e.start <= offset <= e.end), None)
    field = None if at is None else field_at(at.path)
    if at is None or field is None:
        return None
    choices = list(dict.fromkeys(values_of(field)))
    parts = [
        str(field.get("description", "")),
        f"One of {', '.join(f'`{c}`' for c in choices)}" if choices else "",
    ]
    markdown = "\n\n".join(part for part in parts if part)
    span = types.Range(text.position(at.start), text.position(at.end))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, markdown), span) if markdown else None


def _unfinished(before: bytes, line: bytes) -> Entry | None:
    """The key whose value begins on this line and is not there yet: `kind =`."""
    if b"=" not in line:
        return None
    outline = entries(before + b'""')
    return outline[-1] if outline and not outline[-1].is_table else None


def _values(
    text: Text, offset: int, entry: Entry, outline: Sequence[Entry], meant: Meant
) -> Iterator[types.CompletionItem]:
    written = text.data[entry.value : offset]
    quoted = written.count(b'"') % 2 == 1
    start = entry.value + written.rfind(b'"') if quoted else offset - len(_word(written))
    closes = quoted and text.data[offset : offset + 1] == b'"'
    key = str(entry.path[-1])
    if key in _EXPRESSIONS:
        # Inside of an expression one name is completed, and the text around it stays.
        start = offset - len(_word(written))
        for dim in (str(e.path[1]) for e in outline if len(e.path) == 2 and e.path[0] == "dims"):
            yield _item(
                text, start, offset, dim if quoted else f'"{dim}"', _KIND.Variable, "a dim of this workload"
            )
        return
    for value, kind, detail in _choices(entry.path, text, outline, meant):
        new = value[:-1] if closes and value.endswith('"') else value
        yield _item(text, start, offset, new, kind, detail, label=value)


def _choices(
    path: Path, text: Text, outline: Sequence[Entry], meant: Meant
) -> Iterator[tuple[str, types.CompletionItemKind, str]]:
    match path:
        case ("kernel",):
            yield from ((f'"{name}"', _KIND.Function, "a kernel of this source") for name in meant.kernels)
        case ("args", _, "name"):
            taken = {
                text.data[e.value : e.end]
                for e in outline
                if e.path[:1] == ("args",) and e.path[-1] == "name"
            }
            for parameter in meant.parameters:
                if f'"{parameter.name}"'.encode() not in taken and not parameter.constexpr:
                    yield f'"{parameter.name}"', _KIND.Variable, parameter.type
        case ("args", int() as number, "dtype") if (
            own := _own_dtype(number, text, outline, meant)
        ) is not None:
            yield f'"{own}"', _KIND.EnumMember, "as the kernel has it"
    field = field_at(path)
    for value in dict.fromkeys(values_of(field)) if field is not None else ():
        yield value, _KIND.EnumMember, ""


def _own_dtype(number: int, text: Text, outline: Sequence[Entry], meant: Meant) -> str | None:
    """The type that the kernel declares for the argument of a number."""
    named = next((e for e in outline if e.path == ("args", number, "name")), None)
    name = "" if named is None else text.data[named.value : named.end].decode("utf-8", "replace").strip('"')
    return next((p.dtype for p in meant.parameters if p.name == name), None)


def _table(outline: Sequence[Entry], offset: int) -> Path:
    """The table that a place lies in."""
    heads = [e.path for e in outline if e.is_table and e.end <= offset]
    return heads[-1] if heads else ()


def _is_table(key: str) -> bool:
    return f"[{key}]" in tables() or f"[[{key}]]" in tables()


def _word(written: bytes) -> bytes:
    match = _WORD.search(written)
    return b"" if match is None else match.group()


def _item(
    text: Text,
    start: int,
    end: int,
    new: str,
    kind: types.CompletionItemKind,
    detail: str,
    label: str = "",
) -> types.CompletionItem:
    place = types.Range(text.position(start), text.position(end))
    return types.CompletionItem(
        label=(label or new).removesuffix(" = "),
        kind=kind,
        detail=detail or None,
        filter_text=new,
        text_edit=types.TextEdit(place, new),
    )
