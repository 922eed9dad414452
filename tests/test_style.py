"""Rules of CONTRIBUTING's *How we write* that a machine can hold."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parent.parent


def test_a_docstring_says_its_subject_first():
    begins = re.compile(r'"""Of\s')
    files = [f for folder in ("server", "gate", "tests", "docs") for f in (TOP / folder).rglob("*.py")]
    assert len(files) > 1000
    places = [
        f"{file.relative_to(TOP)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if begins.search(line) and "re.compile" not in line
    ]
    assert places == []


PARTICIPLES = {"found", "known", "given", "said", "told"}
A_PARTICIPLE = re.compile(rf"(?<![^\W_])(?:{'|'.join(PARTICIPLES)})(?![^\W_])", re.IGNORECASE)
"""It may be a name: only files with one need to be read closely."""


def names_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each definition, argument, variable and private field."""
    nodes = list(ast.walk(tree))
    fields = {
        id(s.target)
        for c in nodes
        if isinstance(c, ast.ClassDef)
        for s in c.body
        if isinstance(s, ast.AnnAssign)
        and not (isinstance(s.target, ast.Name) and s.target.id.startswith("_"))
    }
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields:
                yield node.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()) if name.startswith("_"):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


def test_no_participle_stands_for_what_a_value_is():
    files = [f for folder in ("server", "gate", "docs", "tests") for f in (TOP / folder).rglob("*.py")]
    assert len(files) > 1000
    assert [str(file.relative_to(TOP)) for file in files if file.stem in PARTICIPLES] == []
    places = [
        f"{file.relative_to(TOP)}:{number}: {name}"
        for file in files
        if A_PARTICIPLE.search(text := file.read_text("utf-8"))
        for number, name in names_in(ast.parse(text))
        if name.strip("_").lower() in PARTICIPLES
    ]
    assert places == []
