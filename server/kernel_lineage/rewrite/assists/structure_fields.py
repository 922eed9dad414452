"""Fields of the structures that a kernel takes by value, written as parameters of their own.

`p.A[row * p.K + k]` is `p_A[row * p_K + k]` of a kernel with the parameters `const float *p_A, int p_K`, and a launch
with `args` is one with `args.A, args.K`. Nobody builds that text: rewrites start from it, which know pointers and
sizes as parameters, and what they make of it is written with the fields again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.code.cuda.structs import template_parameters
from kernel_lineage.kernels.cuda_forms import field_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.cuda_text import at_commas, blank_literals, closing, split, trim
from kernel_lineage.kernels.edits import Edit, edited, replace_node
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language, Launch, Span
from kernel_lineage.kernels.words import WORD, WORD_OF_BYTES, with_meanings
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    indent_unit,
    newline_of,
    replace_between,
    syntax_of,
    taken_name,
)
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.split_structures import other_names
from kernel_lineage.rewrite.launch_site import configuration

_TYPE = re.compile(
    r"(?:\b(?:const|struct|__grid_constant__)\b|\s|\w+::|::)*(\w+)\s*(?:<(.*)>)?\s*", re.DOTALL
)
"""A structure by value as a parameter or a field declares it."""
_REPEATABLE = re.compile(r"\*?\w+(?:(?:::|\.|->)\w+|\[\w+\])*")
"""An argument that may be written once for each field."""
_SKIPPED = {"comment", "access_specifier", "function_definition", "declaration", "template_declaration"}


@dataclass(frozen=True, slots=True)
class _Field:
    type: str
    declarator: str
    """With `{}` for its name: `*__restrict__ {}`."""

    def declared(self, name: str) -> str:
        """A parameter of the field's type."""
        apart = "" if self.declarator.startswith("*") and self.type.endswith("*") else " "
        return f"{self.type}{apart}{self.declarator.format(name)}"


@dataclass(frozen=True, slots=True)
class _Parts:
    """A parameter of a structure, and what stands for it in the other text."""

    written: str
    """As the kernel declares it."""
    declared: tuple[str, ...]
    paths: tuple[str, ...]
    """What is behind the argument in a launch, `.A`; "" for the structure itself, where some of it is left."""


@dataclass(frozen=True, slots=True)
class FieldsApart:
    """How a kernel is written with fields as parameters."""

    edits: tuple[Edit, ...]
    fields: Mapping[str, str]
    """Name of a parameter → the field: `p_A` → `p.A`."""
    parts: tuple[_Parts, ...]

    def named(self, text: str) -> str:
        """A line for people, with the fields' own names."""
        return with_meanings(text, self.fields)

    def together(self, data: bytes) -> bytes:
        """A file's contents that was made of the other text, with structures as parameters again. Refused where a
        parameter has become another one.
        """
        edits: list[Edit] = []
        inside: list[tuple[int, int]] = []
        kept: list[tuple[int, int, str]] = []
        for kernel in read(data, Language.CUDA).kernels:
            lists = [e for part in self.parts for e in _joined(kernel, part)]
            edits += lists
            if not lists:
                continue
            inside.append((kernel.span.start, kernel.span.end))
            begun = self._promised(kernel)
            kept += [(kernel.body_span.start, kernel.body_span.end, name) for name in begun]
            if begun:
                start = kernel.body_span.start + 1
                gap = newline_of(data) + indent_unit(kernel)
                edits.append(replace_between(kernel, start, start, "".join(gap + s for s in begun.values())))
        for match in WORD_OF_BYTES.finditer(data):
            name, at = match[0].decode(), match.start()
            if name not in self.fields or any(e.span.start <= at < e.span.end for e in edits):
                continue
            if any(a <= at < b and name == own for a, b, own in kept):
                continue
            if not inside:
                raise Refusal("what a structure's fields are declared as is not changed")
            if not any(a <= at < b for a, b in inside):
                raise Refusal(f"`{self.fields[name]}` would be used outside of the kernel")
            line = data.count(b"\n", 0, at) + 1
            edits.append(Edit(Span(at, match.end(), line, line), self.fields[name]))
        return edited(data, edits)

    def _promised(self, kernel: Kernel) -> dict[str, str]:
        """The pointers that a kernel of the other text says more of than a structure's fields can, and the statements
        that say it of the fields.
        """
        written = {text for part in self.parts for text in part.declared}
        plain = {_without_promise(text) for text in written}
        begun: dict[str, str] = {}
        for formal in kernel.parameters:
            text = _text_at(data_of(kernel), formal.span)
            if formal.name in self.fields and text not in written and _without_promise(text) in plain:
                begun[formal.name] = f"{text} = {self.fields[formal.name]};"
        return begun


def fields_apart(kernel: Kernel) -> FieldsApart:
    """The kernel's text with a parameter for each field that it uses. Refused where no structure can be split so."""
    syntax, structures = syntax_of(kernel), _Structures(kernel)
    taken = {word.decode() for word in WORD_OF_BYTES.findall(data_of(kernel))}
    by_macros = {word for _, own, text in macros_of(kernel) for word in set(WORD.findall(text)) - own}
    fields: dict[str, str] = {}
    edits: list[Edit] = []
    parts: list[_Parts] = []
    for position, parameter in enumerate(kernel.parameters):
        structure = structures.of(parameter.type)
        if structure is None or parameter.default is not None or parameter.name in by_macros:
            continue
        split_up = attempt(partial(_used_fields, syntax, parameter.name, structure))
        if isinstance(split_up, Refusal) or not split_up[0]:
            continue
        places, whole = split_up
        written = _text_at(data_of(kernel), parameter.span)
        declared, paths = ([written], [""]) if whole else ([], [])
        names: dict[str, str] = {}
        for path, (one, nodes) in places.items():
            names[path] = name = taken_name(f"{parameter.name}{path.replace('.', '_')}", taken)
            fields[name] = parameter.name + path
            declared.append(one.declared(name))
            paths.append(path)
            edits += [replace_node(node, name) for node in nodes]
        parts.append(_Parts(written, tuple(declared), tuple(paths)))
        edits.append(Edit(parameter.span, ", ".join(declared)))
        edits += _fields_passed(kernel, position, paths)
    if not parts:
        raise Refusal(f"{kernel.name} has no structure whose fields can be parameters")
    return FieldsApart(tuple(edits), fields, tuple(parts))


def _used_fields(
    syntax: CudaSyntax, name: str, structure: _Structure
) -> tuple[dict[str, tuple[_Field, list[Node]]], bool]:
    """The fields of a parameter by their paths (`.A`, `.out.C`) with the places that use them, and whether something
    else of it is used as well.
    """
    if any(v.name == name for unit in syntax.units[:1] for v in unit.variables):
        raise Refusal(f"a variable has the name of `{name}`")
    places: dict[str, tuple[_Field, list[Node]]] = {}
    whole, changed = False, False
    for node in descendants(syntax.entry.node.child_by_field_name("body") or syntax.entry.node):
        if node.type != "identifier" or text_of(node) != name:
            continue
        path, here = "", node
        one: _Field | None = None
        inner: _Structure | None = structure
        while one is None and inner is not None and (outer := _field_around(here)) is not None:
            member = text_of(outer.child_by_field_name("field"))
            one, path, here = inner.fields.get(member), f"{path}.{member}", outer
            inner = inner.inner.get(member)
        called = here.parent is not None and here.parent.type == "call_expression"
        if here == node or inner is not None or (called and field_of(here.parent, "function") == here):
            raise Refusal(f"`{text_of(here.parent)}` uses a whole structure")
        changed = changed or _is_changed(here)
        if one is None:
            whole = True
        else:
            places.setdefault(path, (one, []))[1].append(here)
    if whole and changed:
        raise Refusal(f"a field of `{name}` is changed")
    return places, whole


def _field_around(node: Node) -> Node | None:
    """The field of what a node names."""
    outer = node.parent
    plain = (
        outer is not None
        and outer.type == "field_expression"
        and "->" not in {c.type for c in outer.children}
    )
    return outer if outer is not None and plain and outer.child_by_field_name("argument") == node else None


def _is_changed(node: Node) -> bool:
    around = node.parent
    if around is None:
        return False
    if around.type == "assignment_expression":
        return around.child_by_field_name("left") == node
    if around.type == "init_declarator":
        return any(c.type == "reference_declarator" for c in around.children)
    return around.type in ("update_expression", "pointer_expression") and not text_of(around).startswith("*")


def _fields_passed(kernel: Kernel, position: int, paths: Sequence[str]) -> list[Edit]:
    """Edits that give the fields at each launch."""
    data = data_of(kernel)
    edits: dict[int, Edit] = {}
    for launch in kernel.launches:
        arguments = _arguments(kernel, launch)
        if len(arguments) != len(kernel.parameters):
            raise Refusal(f"the launch in line {launch.span.first_line} gives another number of arguments")
        start, end = arguments[position]
        argument = data[start:end].decode()
        if not _REPEATABLE.fullmatch(argument):
            raise Refusal(f"`{argument}` would be worked out for each field")
        edits[start] = replace_between(
            kernel, start, end, ", ".join(_behind(argument, path) for path in paths)
        )
    return list(edits.values())


def _behind(argument: str, path: str) -> str:
    return f"({argument}){path}" if path and argument.startswith("*") else argument + path


def _arguments(kernel: Kernel, launch: Launch) -> list[tuple[int, int]]:
    """Where the arguments of a launch lie in the file. Raises `LaunchError` where they are not written out there."""
    code = blank_literals(data_of(kernel))
    opening = code.index(b"(", code.index(b">>>", configuration(kernel, launch)[-1].span.end))
    end = closing(code, opening)
    if end is None:
        raise Refusal(f"the launch in line {launch.span.first_line} is not complete")
    return [trim(code, a, b) for a, b in split(code, opening + 1, end)]


def _joined(kernel: Kernel, part: _Parts) -> list[Edit]:
    """Edits that give a kernel of the other text a structure again; none where it has nothing of it."""
    data, formals = data_of(kernel), kernel.parameters
    texts = [_text_at(data, p.span) for p in formals]
    count = len(part.declared)
    plain = [_without_promise(text) for text in part.declared]
    at = next(
        (n for n in range(len(texts)) if [_without_promise(t) for t in texts[n : n + count]] == plain), None
    )
    if at is None:
        return []
    last = at + count - 1
    edits = [replace_between(kernel, formals[at].span.start, formals[last].span.end, part.written)]
    done = set[int]()
    for launch in kernel.launches:
        arguments = _arguments(kernel, launch)
        if len(arguments) != len(formals):
            raise Refusal(f"the launch in line {launch.span.first_line} gives another number of arguments")
        start, end = arguments[at][0], arguments[last][1]
        first = data[arguments[at][0] : arguments[at][1]].decode().removesuffix(part.paths[0])
        argument = first[1:-1] if first.startswith("(*") else first
        if [data[a:b].decode() for a, b in arguments[at : last + 1]] != [
            _behind(argument, p) for p in part.paths
        ]:
            raise Refusal(f"the launch in line {launch.span.first_line} gives other arguments")
        if start not in done:
            done.add(start)
            edits.append(replace_between(kernel, start, end, argument))
    return edits


def _without_promise(declared: str) -> str:
    """A parameter without what is promised of it: that it is only read, and lies apart from all others."""
    return "".join(re.sub(r"\b(?:const|__restrict__)\b", "", declared).split())


def _text_at(data: bytes, span: Span) -> str:
    return data[span.start : span.end].decode()


@dataclass(frozen=True, slots=True)
class _Structure:
    fields: Mapping[str, _Field]
    inner: Mapping[str, _Structure]
    """Structures by value within it."""


class _Structures:
    """The structures of a kernel's file."""

    def __init__(self, kernel: Kernel) -> None:
        self._listed: dict[str, list[Node]] = {}
        root = kernel.source.root if kernel.source is not None else None
        for node in descendants(root) if root is not None else ():
            if node.type != "struct_specifier" or node.child_by_field_name("body") is None:
                continue
            names = {text_of(node.child_by_field_name("name")), *other_names(node)}
            for one in names - {""}:
                self._listed.setdefault(one, []).append(node)

    def of(self, written: str, depth: int = 3) -> _Structure | None:
        """The structure that a type names; None where it names another type, or one that is not read here."""
        match = _TYPE.fullmatch(written.replace(" const", "").replace(" __grid_constant__", ""))
        listed = self._listed.get(match[1], []) if match is not None else []
        if match is None or len(listed) != 1 or not depth:
            return None
        (node,) = listed
        body, around = node.child_by_field_name("body"), node.parent
        if body is None or any(c.type == "base_class_clause" for c in node.children):
            return None
        template = around if around is not None and around.type == "template_declaration" else None
        formals = (
            template_parameters(text_of(template.child_by_field_name("parameters"))[1:-1]) if template else ()
        )
        actuals = at_commas(match[2] or "")
        if len(formals) != len(actuals):
            return None
        renamed = {name: actual for (_, name, _), actual in zip(formals, actuals, strict=True)}
        fields: dict[str, _Field] = {}
        inner: dict[str, _Structure] = {}
        for declaration in body.named_children:
            if declaration.type in _SKIPPED or declaration.has_error:
                continue  # What macros keep from being read is no field that is known by its type.
            if declaration.type == "alias_declaration":
                meant = text_of(declaration.child_by_field_name("type"))
                renamed[text_of(declaration.child_by_field_name("name"))] = _in_terms_of(renamed, meant)
                continue
            if declaration.type != "field_declaration":
                return None
            for name, one in _declared(declaration, renamed):
                held = self.of(one.type, depth - 1) if one.declarator == "{}" else None
                if held is not None:
                    inner[name] = held
                else:
                    fields[name] = one
        return _Structure(fields, inner)


def _in_terms_of(renamed: Mapping[str, str], written: str) -> str:
    """A type with what stands for its names outside of the structure."""
    return with_meanings(written, renamed)


def _declared(declaration: Node, renamed: Mapping[str, str]) -> Iterator[tuple[str, _Field]]:
    """The numbers, pointers and structures that a line of a structure declares."""
    plain = {"type_qualifier", "storage_class_specifier", "bitfield_clause", "alignas_qualifier"}
    odd = [c for c in declaration.children if c.type in plain and text_of(c) != "const"]
    if odd:
        return
    declarators = declaration.children_by_field_name("declarator")
    if not declarators:
        return
    start, text = declaration.start_byte, declaration.text or b""
    kind = text[: declarators[0].start_byte - start].decode().strip()
    kind = _in_terms_of(renamed, kind)
    for declarator in declarators:
        here: Node | None = declarator
        while here is not None and here.type == "pointer_declarator":
            here = here.child_by_field_name("declarator")
        if here is None or here.type != "field_identifier" or "{" in kind + text_of(declarator):
            continue
        before = text[declarator.start_byte - start : here.start_byte - start].decode()
        yield text_of(here), _Field(kind, before + "{}")
