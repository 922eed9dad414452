"""Comparisons, products and sums as they are written: none is a template or a cast where its names are values.

Expressions are made as trees and written in two ways: with the brackets that C++ needs, and with all of them, which
leave nothing to misread.
"""

from __future__ import annotations

import random

import pytest
from tree_sitter import Node

from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.cuda import parse
from kernel_lineage.kernels.cuda_forms import operator_of, text_of
from kernel_lineage.kernels.cuda_trees import parsed
from kernel_lineage.kernels.document import OpenDocument
from kernel_lineage.kernels.guards import guards_of
from kernel_lineage.kernels.source import Language

_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
_LEVEL = {operator: level for level, group in enumerate(_LEVELS, 1) for operator in group.split()}
_UNARY, _WHOLE = 11, 20
_OPERATORS = (*"<>" * 4, "<=", ">=", ">=", *("||", "&&") * 2, ">>", "<<", *"+-*&|/", "==")
_LEAVES = ("a", "b", "n", "m", "0", "1", "s.x", "q->y", "p[a]", "threadIdx.x")

Tree = tuple[object, ...]


def made(chance: random.Random, depth: int) -> Tree:
    """An expression: `("leaf", text)`, `("two", operator, left, right)`, `("one", sign, operand)`, …"""
    kind = chance.random()
    if depth == 0 or kind < 0.12:
        return ("leaf", chance.choice(_LEAVES))
    if kind < 0.74:
        return ("two", chance.choice(_OPERATORS), made(chance, depth - 1), made(chance, depth - 1))
    if kind < 0.81:
        return ("one", chance.choice("!~-"), ("in brackets", made(chance, depth - 1)))
    if kind < 0.87:
        return ("call", tuple(made(chance, depth - 1) for _ in range(chance.randint(1, 3))))
    if kind < 0.91:
        return ("cast", chance.choice(("int", "float", "size_t")), made(chance, depth - 1))
    if kind < 0.94:
        return ("if", *(made(chance, depth - 1) for _ in range(3)))
    return ("in brackets", made(chance, depth - 1))


def written(tree: Tree, chance: random.Random) -> str:
    """An expression with the brackets that it needs, and with blanks or none around operators."""
    return _written(tree, 0, chance)


def _written(tree: Tree, least: int, chance: random.Random) -> str:
    level, text = _WHOLE, ""
    match tree:
        case ("leaf", str(text)):
            pass
        case ("in brackets", tuple(inner)):
            text = f"({_written(inner, 0, chance)})"
        case ("two", str(operator), tuple(left), tuple(right)):
            level = _LEVEL[operator]
            blank = " " if chance.random() < 0.8 else ""
            second = _written(right, level + 1, chance)
            between = " " if second[0] in "-&" else blank
            text = f"{_written(left, level, chance)}{blank or between}{operator}{between}{second}"
        case ("one", str(sign), tuple(inner)):
            level, text = _UNARY, f"{sign}{_written(inner, _UNARY, chance)}"
        case ("cast", str(kind), tuple(inner)):
            level, text = _UNARY, f"({kind}) {_written(inner, _UNARY, chance)}"
        case ("call", tuple(arguments)):
            text = f"f({', '.join(_written(a, 0, chance) for a in arguments)})"
        case ("if", tuple(test), tuple(first), tuple(second)):
            level = 0
            text = (
                f"{_written(test, 1, chance)} ? {_written(first, 0, chance)} : {_written(second, 0, chance)}"
            )
    return f"({text})" if level < least else text


def bracketed(tree: Tree) -> str:
    """An expression with all brackets."""
    match tree:
        case ("leaf", str(text)):
            return text
        case ("in brackets", tuple(inner)):
            return bracketed(inner)
        case ("two", str(operator), tuple(left), tuple(right)):
            return f"({bracketed(left)} {operator} {bracketed(right)})"
        case ("one", str(sign), tuple(inner)):
            return f"({sign}({bracketed(inner)}))"
        case ("cast", str(kind), tuple(inner)):
            return f"(({kind}) ({bracketed(inner)}))"
        case ("call", tuple(arguments)):
            return f"f({', '.join(map(bracketed, arguments))})"
        case ("if", tuple(test), tuple(first), tuple(second)):
            return f"({bracketed(test)} ? {bracketed(first)} : {bracketed(second)})"
    raise AssertionError(tree)


def read(node: Node | None) -> str:
    """What a syntax tree says of an expression, brackets aside."""
    assert node is not None
    fields = {name: node.child_by_field_name(name) for name in ("left", "right", "argument", "value")}
    match node.type:
        case "parenthesized_expression":
            return read(node.named_children[0])
        case "binary_expression":
            return f"({read(fields['left'])} {operator_of(node)} {read(fields['right'])})"
        case "unary_expression" | "pointer_expression":
            return f"({operator_of(node)} {read(fields['argument'])})"
        case "cast_expression":
            return f"(({text_of(node.child_by_field_name('type'))}) {read(fields['value'])})"
        case "call_expression":
            listed = node.child_by_field_name("arguments")
            assert listed is not None
            return (
                f"{read(node.child_by_field_name('function'))}({', '.join(map(read, listed.named_children))})"
            )
        case "conditional_expression":
            return " ".join(read(n) for n in node.named_children)
        case "identifier" | "number_literal" | "field_expression" | "subscript_expression":
            inner = node.child_by_field_name("field")
            return text_of(node) if inner is None or inner.type == "field_identifier" else inner.type
        case other:
            return other


_STATEMENTS = {
    "r = {};": ("right",),
    "if ({}) return;": ("condition", "value"),
    "while ({}) r++;": ("condition", "value"),
    "for (int i = 0; {}; ++i) r++;": ("condition",),
    "bool v = {};": ("declarator", "value"),
    "p[{}] = 0;": ("left", "indices", ""),
    "g({});": ("arguments", ""),
    "return {};": ("",),
}
_HEAD = (
    "struct S {{ int x; int y; }};\n{} k(int a, int b, int n, int m, int* p, S s, S* q) {{\n  int r = 0;\n  "
)


def expression_in(statement: str, text: str, head: str) -> str:
    """What is read of an expression in a statement of a function."""
    tree, _ = parsed(f"{_HEAD.format(head)}{statement.format(text)}\n}}\n".encode())
    body = tree.root_node.named_children[-1].child_by_field_name("body")
    node: Node | None = body.named_children[1] if body is not None else None
    if node is not None and node.type == "expression_statement":
        node = node.named_children[0]
    for name in _STATEMENTS[statement]:
        assert node is not None
        node = node.child_by_field_name(name) if name else node.named_children[0]
    return read(node)


@pytest.mark.parametrize("head", ["__global__ void", "int"])
@pytest.mark.parametrize("statement", _STATEMENTS)
def test_a_tree_has_the_operators_of_the_text(statement: str, head: str) -> None:
    chance = random.Random(f"{statement} {head}")
    for _ in range(400):
        tree = made(chance, chance.choice((1, 2, 2, 3)))
        text = written(tree, chance)
        if "(p[a])" not in text:  # stays a cast: see below
            assert expression_in(statement, text, head) == expression_in(statement, bracketed(tree), head), (
                text
            )


_KERNEL = "{}\n__global__ void k(float* o, int* p, int a, int b, int n, int m, int2 s) {{\n{}\n}}\n"


def _accesses(text: str, body: str, before: str = "") -> list[tuple[str, str, str]]:
    source = parse(_KERNEL.format(before, body.format(text)).encode())
    model = read_open(source.kernels[-1])
    assert not model.problems
    return [(str(a.path), a.root, str(a.offset)) for a in model.accesses]


@pytest.mark.parametrize(
    "body", ["if ({}) o[threadIdx.x] = 1;", "if (!({})) return;\no[0] = 1;", "o[{}] = 1;"]
)
def test_the_model_of_a_kernel_has_the_conditions_of_the_text(body: str) -> None:
    chance = random.Random(body)
    for _ in range(150):
        tree = made(chance, 3)
        text = written(tree, chance)
        if "f(" not in text and "q->" not in text:
            assert _accesses(text, body) == _accesses(bracketed(tree), body), text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("!(a < 0 || a >= n)", "!((a < 0) || (a >= n))"),
        ("a >= 0 && a < n && b >= 0 && b < m", "((a >= 0) && (a < n) && (b >= 0)) && (b < m)"),
        ("a < n >> 1", "a < (n >> 1)"),
        ("a < n && b > (m)", "(a < n) && (b > m)"),
        ("a < b || n > -m", "(a < b) || (n > -m)"),
        ("s.x < b || n > (m)", "(s.x < b) || (n > m)"),
        ("min(a < b, n > (m))", "min((a < b), (n > m))"),
        ("(a) && b < n", "a && (b < n)"),
        ("(a) + (b) * n > 3", "(a + b * n) > 3"),
        ("m * (a) - b < n", "(m * a - b) < n"),
        ("(p[a]) && b < n", "p[a] && (b < n)"),
        ("(p[a]) + b * 2 > n", "(p[a] + b * 2) > n"),
    ],
)
def test_what_looks_like_a_template_or_a_cast(text: str, plain: str) -> None:
    for body in ("if ({}) o[threadIdx.x] = 1;", "if (!({})) return;\no[0] = 1;"):
        assert _accesses(text, body) == _accesses(plain, body)


@pytest.mark.parametrize(
    ("before", "text", "plain"),
    [
        ("#define IN(i, n) !(i < 0 || i >= n)", "IN(a, n)", "!((a < 0) || (a >= n))"),
        ("#define LESS(i, n) i < n && n > (0)", "LESS(a, b)", "(a < b) && (b > 0)"),
        ("#define AT(i, j) (i) + (j) * n", "AT(a, b)", "a + b * n"),
        ("#define K 4", "K < n && m > (b)", "(4 < n) && (m > b)"),
        ("constexpr int K = 4;", "K < n && m > (b)", "(4 < n) && (m > b)"),
        ("template <int K> __device__ bool less(int x) { return x > K; }", "a < 3 && less<3>(b)", "(a < 3) && (b > 3)"),
        ("template <bool K> __device__ bool f(int x) { return K && x > 3; }", "f<true || false>(b)", "b > 3"),
        ("template <int K> __device__ bool f(int x) { return K < x && x > (3); }", "f<1>(b)", "(1 < b) && (b > 3)"),
    ],
)  # fmt: skip
def test_names_of_the_file_are_values_or_templates(before: str, text: str, plain: str) -> None:
    body = "if ({}) o[threadIdx.x] = 1;"
    assert _accesses(text, body, before) == _accesses(plain, body, before)


@pytest.mark.parametrize(
    "text", ["SEEN_ELSEWHERE < n && m > (b)", "SEEN_ELSEWHERE < n >> 1", "(SEEN_ELSEWHERE) + b * n < 3"]
)
def test_a_name_that_nothing_tells_of_is_unknown(text: str) -> None:
    ((path, *_),) = _accesses(text, "if ({}) o[threadIdx.x] = 1;")
    assert "#" in path and not any(f"name='{name}'" in path for name in "bnm")


def test_a_template_of_the_name_of_another_functions_variable_stays_one() -> None:
    text = """template <int N> __device__ int size(int x) { return x + N; }
__global__ void other(float* o) { int size = 3; o[size] = 1; }
__global__ void k(float* o, int n) { o[size<3>(n)] = 1; }
"""
    (access,) = read_open(parse(text.encode()).kernels[-1]).accesses
    assert str(access.offset) == "((n + 3) * 4)"


@pytest.mark.parametrize("length", [3, 40, 400])
def test_a_chain_of_comparisons_of_any_length_is_one(length: int) -> None:
    chain = "if (" + "a < b || " * length + "n > (m)) o[0] = 1;"
    tree, _ = parsed(_KERNEL.format("", chain).encode())
    assert "template" not in str(tree.root_node)


def test_guards_are_each_a_comparison() -> None:
    body = "if (a >= 0 && a < n && b >= 0 && b < m) o[0] = 1;\nif (a < n && b > (m)) o[0] = 1;"
    (kernel,) = parse(_KERNEL.format("", body).encode()).kernels
    assert [g.expr for g in guards_of(kernel)] == ["a >= 0", "a < n", "b >= 0", "b < m", "a < n", "b > (m)"]


def test_the_tree_keeps_the_text_of_the_file() -> None:
    text = _KERNEL.format("", "if (!(a < 0 || a >= n) && (a) + b * n > 3) o[0] = 1;").encode()
    tree, mended = parsed(text)
    assert mended and tree.root_node.text == text.lstrip() and not tree.root_node.has_error


def test_an_open_document_reads_what_its_file_reads() -> None:
    """A name becomes a value by one edit, and is none again after the next one."""
    text = _KERNEL.format("", "if (c < n && b > (m)) o[0] = 1;").encode()
    document = OpenDocument(text, Language.CUDA)
    at = text.index(b"int a")
    for new, old in ((b"int c, ", b""), (b"", b"int c, ")):
        document.edit(at, at + len(old), new)
        again = parse(document.data)
        assert str(document.source.kernels[0].node) == str(again.kernels[0].node)
        assert [g.expr for g in guards_of(document.source.kernels[0])] == [
            g.expr for g in guards_of(again.kernels[0])
        ]
