"""The JSON schema of a workload file, from the models that read it and what is said of their fields."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path
from typing import Any

from kernel_gate import arguments, launch_tables, workload
from kernel_gate.dtype_names import NAMES
from kernel_gate.value_kinds import FORMS

ONE_OR_MANY = ("grid", "block", "call")
"""Keys that take one value in the place of a list of one."""


@cache
def workload_schema() -> dict[str, Any]:
    """The schema, JSON Schema 2020-12."""
    schema = workload.Workload.model_json_schema()
    docs = _field_docs()
    definitions = schema["$defs"]
    for name, table in [("Workload", schema), *definitions.items()]:
        table.pop("title", None)
        for key, field in table.get("properties", {}).items():
            field.pop("title", None)
            if (text := docs.get((name, key))) is not None:
                field["description"] = text
        for key in ONE_OR_MANY:
            if key in table.get("properties", {}):
                table["properties"][key] = _one_or_many(table["properties"][key])
    for name, key in (("Argument", "dtype"), ("ValueTable", "dtype")):
        definitions[name]["properties"][key]["enum"] = list(NAMES)
    definitions["Argument"]["properties"]["values"]["examples"] = list(FORMS)
    of_workload = schema["properties"]
    del of_workload["folder"]  # where the file lies is not written in it
    dims = of_workload["dims"]
    for rule in ("additionalProperties", "patternProperties"):
        if rule in dims:
            dims[rule] = _sizes(dims[rule])
    schema["required"] = [key for key in schema["required"] if key != "launch"]
    schema["anyOf"] = [{"required": [key]} for key in ("launch", "launches")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A workload of Kernel Lineage",
        **_without_null(schema),
    }


def render() -> str:
    """The schema as it is committed."""
    schema = dict(workload_schema())
    schema["$defs"] = _Lines(schema["$defs"])
    schema["properties"] = _Lines(schema["properties"])
    return str(_Lines(schema))


class _Lines(dict[str, Any]):
    """Written with a line for each key."""

    def __str__(self) -> str:
        rows = (f"{json.dumps(key)}: {self._written(value)}" for key, value in self.items())
        return "{\n" + ",\n".join(rows) + "\n}"

    @staticmethod
    def _written(value: Any) -> str:
        return str(value) if isinstance(value, _Lines) else json.dumps(value, ensure_ascii=False)


def _without_null(node: Any) -> Any:
    """TOML has no null: a key that may be None is left out."""
    if isinstance(node, list):
        return [_without_null(one) for one in node if one != {"type": "null"}]
    if not isinstance(node, dict):
        return node
    kept = {key: _without_null(value) for key, value in node.items() if (key, value) != ("default", None)}
    if len(choices := kept.get("anyOf", ())) == 1 and "properties" not in kept:
        kept = {**choices[0], **{key: value for key, value in kept.items() if key != "anyOf"}}
    return kept


def _one_or_many(field: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: field.pop(key) for key in ("description", "default") if key in field}
    return {**kept, "anyOf": [field["items"], field]}


def _sizes(rule: Any) -> Any:
    if "$ref" in rule or rule.get("type") != "array":
        return {pattern: _sizes(one) for pattern, one in rule.items()}
    return {"anyOf": [rule["items"], rule]}


def _field_docs() -> dict[tuple[str, str], str]:
    """(Class, field) → the text below the field."""
    docs: dict[tuple[str, str], str] = {}
    for module in (workload, arguments, launch_tables):
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        for made in tree.body:
            if isinstance(made, ast.ClassDef):
                docs |= {(made.name, field): text for field, text in _docs_of(made)}
        for made in tree.body:  # what a table takes over from another
            if isinstance(made, ast.ClassDef):
                for base in made.bases:
                    inherited = {f: t for (c, f), t in docs.items() if c == ast.unparse(base)}
                    docs = {(made.name, f): t for f, t in inherited.items()} | docs
    return docs


def _docs_of(made: ast.ClassDef) -> list[tuple[str, str]]:
    return [
        (field.target.id, " ".join(following.value.value.split()))
        for field, following in zip(made.body, made.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
        and isinstance(following.value.value, str)
    ]
