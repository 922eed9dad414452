"""What may stand at a place of a workload file, from its JSON schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernel_gate.workload_schema import workload_schema
from kernel_lineage.editor.workload_files.places import Path

Field = Mapping[str, Any]


def fields_at(path: Path) -> dict[str, Field]:
    """The keys of the table at a path, each with what is said of it."""
    fields: dict[str, Field] = {}
    for node in _nodes(path):
        fields = {**node.get("properties", {}), **fields}
    return fields


def field_at(path: Path) -> Field | None:
    """What is said of a key; of a table, what it holds."""
    if not path:
        return None
    if isinstance(path[-1], int):
        path = path[:-1]
    return fields_at(path[:-1]).get(str(path[-1]))


def tables() -> dict[str, str]:
    """The heads that a file may have, `[launch]` and `[[args]]`, each with what it is for."""
    heads: dict[str, str] = {}
    for key, field in fields_at(()).items():
        forms = list(_forms(field))
        if any("properties" in form or "patternProperties" in form for form in forms):
            heads[f"[{key}]"] = _description(field, forms)
        elif any(_of_tables(form) for form in forms):
            heads[f"[[{key}]]"] = _description(field, forms)
    return heads


def values_of(field: Field) -> Iterator[str]:
    """What a key may be, as far as that is a list, as TOML."""
    for form in _forms(field):
        yield from (f'"{value}"' for value in (*form.get("enum", ()), *form.get("examples", ())))
        if form.get("type") == "boolean":
            yield from ("true", "false")


def _nodes(path: Path) -> Iterator[Field]:
    """Everything that may stand at a path."""
    nodes: list[Field] = [workload_schema()]
    for part in path:
        below: list[Field] = []
        for node in nodes:
            if isinstance(part, int):
                below += _forms(node.get("items", {}))
            elif part in node.get("properties", {}):
                below += _forms(node["properties"][part])
        nodes = below
    yield from nodes


def _forms(field: Field) -> Iterator[Field]:
    """A field's alternatives, with what they refer to."""
    if "$ref" in field:
        yield from _forms(workload_schema()["$defs"][field["$ref"].rpartition("/")[2]])
    yield field
    for choice in field.get("anyOf", ()):
        if "required" not in choice:
            yield from _forms(choice)


def _of_tables(form: Field) -> bool:
    return any("properties" in f or "patternProperties" in f for f in _forms(form.get("items", {})))


def _description(field: Field, forms: list[Field]) -> str:
    return str(field.get("description") or next((f["description"] for f in forms if "description" in f), ""))
