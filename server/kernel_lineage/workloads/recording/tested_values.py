"""The values that tests of GoogleTest are made for: `INSTANTIATE_TEST_SUITE_P(All, Product, Values(Shape{64, 32}))`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import declared_name

_INSTANTIATED = re.compile(r"INSTANTIATE_TEST_(?:SUITE|CASE)_P")
_PARAMETER = r"(?:this\s*->\s*)?(?:\w+\s*::\s*)*GetParam\s*\(\s*\)"
_APART = re.compile(rf"(?:\[|\btie\s*\()([\w\s,]+)[\])]\s*=\s*{_PARAMETER}")
_PLACE = re.compile(r"\b(\w+)\s*[=({]\s*(?:std\s*::\s*)?get\s*<\s*(\d+)\s*>\s*\(")
_ALONE = re.compile(rf"\b(\w+)\s*[=({{]\s*{_PARAMETER}")
_OF = re.compile(r"\b(?:TestWithParam|WithParamInterface)\s*<\s*(?:\w+\s*::\s*)*(\w+)\s*>")
_LISTS = ("initializer_list", "argument_list")


@dataclass(frozen=True, slots=True)
class Value:
    """One number of the first case of a suite."""

    name: str
    """What the tests call it."""
    node: Node
    type: str
    """That of the field that it is for; "" where none is told."""


def with_largest_first(text: str, whole: Callable[[str], int | None]) -> str:
    """The text in which the largest case of each list of values is the first; `whole` tells what a number comes to."""
    root = read(text.encode(), Language.CUDA).root
    swaps: list[tuple[Node, Node]] = []
    if root is None or "GetParam" not in text:
        return text
    for suite in _suites(root):
        for cases in _lists(suite, root):
            largest = max(cases, key=lambda case: prod(max(whole(text_of(n)) or 1, 1) for n in _parts(case)))
            swaps += [(cases[0], largest)] if largest is not cases[0] else []
    data = text.encode()
    places = {one.start_byte: (one, other) for pair in swaps for one, other in (pair, pair[::-1])}
    parts, at = [], 0
    for start, (one, other) in sorted(places.items()):
        parts += [data[at:start], data[other.start_byte : other.end_byte]]
        at = one.end_byte
    return b"".join((*parts, data[at:])).decode()


def first_values(root: Node, fields: Mapping[str, Sequence[tuple[str, str]]]) -> Iterator[Value]:
    """The numbers of the first case of each suite; `fields` are the names and types of those of structures."""
    for suite in _suites(root):
        tests = _tests_of(suite, root)
        names = {int(place): name for name, place in _PLACE.findall(tests)}
        if apart := _APART.search(tests):
            names = dict(enumerate(WORD.findall(apart[1]))) | names
        lists = list(_lists(suite, root))
        for position, cases in enumerate(lists):
            parts = _parts(cases[0])
            made = text_of(cases[0].child_by_field_name("type")) or "".join(_OF.findall(tests)[:1])
            of = list(fields.get(made.rsplit("::", 1)[-1], ())) if len(lists) == 1 else []
            for place, part in enumerate(parts):
                at = place if len(lists) == 1 else position
                alone = _ALONE.search(tests) if len(lists) == len(parts) == 1 else None
                name, kind = of[at] if at < len(of) else (names.get(at, ""), "")
                yield Value(name or (str(alone[1]) if alone else f"value_{at}"), part, kind)


def _suites(root: Node) -> Iterator[Node]:
    for node in inside(root):
        if node.type == "call_expression" and _INSTANTIATED.fullmatch(
            text_of(node.child_by_field_name("function"))
        ):
            yield node


def _lists(suite: Node, root: Node) -> Iterator[list[Node]]:
    """The cases of each list of values of a suite, as they are written."""
    for node in inside(suite):
        called = text_of(node.child_by_field_name("function")).rsplit("::", 1)[-1].partition("<")[0]
        if node.type != "call_expression" or called not in ("Values", "ValuesIn"):
            continue
        cases = arguments_of(node.child_by_field_name("arguments"))
        if called == "ValuesIn":
            cases = _parts(_defined(cases[0], root)) if len(cases) == 1 else []
        if cases:
            yield cases


def _defined(node: Node, root: Node) -> Node:
    """What a variable is made with; any other node itself, and a variable whose value C++ asks when it compiles."""
    if node.type != "identifier":
        return node
    for made in inside(root):
        if made.type != "init_declarator" or declared_name(made)[0] != text_of(node) or made.parent is None:
            continue
        value = made.child_by_field_name("value")
        is_fixed = "constexpr" in text_of(made.parent).partition("=")[0]
        return node if value is None or is_fixed else value
    return node


def _parts(case: Node) -> list[Node]:
    """The numbers of a case: of `make_tuple(a, b)`, `Shape{a, b}` and `{a, b}` those in brackets."""
    listed = case if case.type in _LISTS else None
    for field in ("arguments", "value"):
        inner = case.child_by_field_name(field)
        listed = inner if inner is not None and inner.type in _LISTS else listed
    return [c for c in listed.named_children if c.type != "comment"] if listed is not None else [case]


def _tests_of(suite: Node, root: Node) -> str:
    """The text of the tests of a suite and of its class."""
    listed = arguments_of(suite.child_by_field_name("arguments"))
    name = text_of(listed[1]) if len(listed) > 1 else ""
    head = re.compile(rf"(?:TEST_P\s*\(\s*|(?:class|struct)\s+){re.escape(name)}\b")
    kinds = ("function_definition", "class_specifier", "struct_specifier")
    return "\n".join(t for n in inside(root) if n.type in kinds and head.match(t := text_of(n)))
