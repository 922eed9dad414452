"""What a binding says of a function: its name in Python, and defaults of parameters, as `py::arg("eps") = 1e-5`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kernel_lineage.kernels.cuda_text import at_commas, blank_literals, closing, split

IS_BINDING = re.compile(rb"\bPYBIND11_MODULE\b|\bTORCH_LIBRARY\w*")
_BINDS = re.compile(rb"\.\s*(def|impl)\s*\(")
_FUNCTION = re.compile(r"&?\s*(?:::)?(?:\w+\s*::\s*)*(\w+)|.*\(\s*&\s*(?:\w+\s*::\s*)*(\w+)\s*\)", re.DOTALL)
_ARGUMENT = re.compile(
    r'(?:\w+::)*arg\s*\(\s*"\w+"\s*\)(?:\.\w+\(\))?\s*(?:=\s*(.+))?|"\w+"_a\s*(?:=\s*(.+))?', re.DOTALL
)
_SCHEMA = re.compile(r'"(?:\w+::)?(\w+)\s*\((.*)\)\s*->', re.DOTALL)
_NAME = re.compile(r'(?:\w+\(\s*)?"(?:\w+::)?(\w+)"', re.DOTALL)
_DEFAULT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?|true|false|True|False")

Defaults = Mapping[str, Mapping[int, str]]
"""Function → place of a parameter → its default as C++ has it."""


def read_bindings(text: str) -> tuple[Defaults, Mapping[str, frozenset[str]]]:
    """The numbers and truth values that callers of bound functions may leave out; function → its names in Python."""
    raw = text.encode()
    defaults: dict[str, dict[int, str]] = {}
    names: dict[str, frozenset[str]] = {}
    schemas: dict[str, dict[int, str]] = {}
    for function, name, bound in _bound(raw, schemas) if IS_BINDING.search(raw) else ():
        defaults.setdefault(function, {}).update(bound)
        names[function] = names.get(function, frozenset()) | {name}
    return defaults, names


def _bound(raw: bytes, schemas: dict[str, dict[int, str]]) -> Iterator[tuple[str, str, dict[int, str]]]:
    """Each function with its name in Python and the defaults by place; `schemas` is filled with what is declared."""
    code = blank_literals(raw)
    for match in _BINDS.finditer(code):
        end = closing(code, match.end() - 1)
        if end is None:
            continue
        parts = [raw[a:b].decode("utf-8", "replace").strip() for a, b in split(code, match.end(), end)]
        name, schema = _NAME.match(parts[0]), _SCHEMA.match(parts[0])
        if schema is not None:
            schemas[schema[1]] = _listed(schema[2])
        function = next((m[1] or m[2] for p in parts[1:] if "&" in p and (m := _FUNCTION.fullmatch(p))), "")
        if not function and len(parts) > 1 and (plain := re.fullmatch(r"(?:\w+::)*(\w+)", parts[-1])):
            function = plain[1]
        if not function:
            continue
        called = schema[1] if schema is not None else name[1] if name is not None else function
        listed = schemas.get(called)
        values = [m[1] or m[2] or "" for p in parts[1:] if (m := _ARGUMENT.fullmatch(p))]
        yield function, called, listed or _numbers(values)


def _listed(schema: str) -> dict[int, str]:
    """The defaults in a schema: `Tensor! out, Tensor x, *, float eps=1e-6`."""
    parameters = [p for p in at_commas(schema) if p != "*"]
    return _numbers([p.partition("=")[2] for p in parameters])


def _numbers(values: list[str]) -> dict[int, str]:
    return {at: text.strip().lower() for at, text in enumerate(values) if _DEFAULT.fullmatch(text.strip())}
