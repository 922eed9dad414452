"""A workload drafted from a CUDA C++ kernel's own file: its launch, what its callers allocate, and their sizes.

Nothing is made up. A size, a shape or a value that the file does not tell is listed as missing, and the draft cannot
be used until a person has filled it in. The file's own sizes are those that are timed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tree_sitter import Node

from kernel_lineage.kernels.cuda_parameters import DTYPES
from kernel_lineage.kernels.cuda_syntax import text_of
from kernel_lineage.kernels.source import Kernel, Launch, Parameter
from kernel_lineage.rewrite.constants import constants_of
from kernel_lineage.rewrite.drafting.host import Scope, literal, scope_of
from kernel_lineage.rewrite.drafting.model import Draft, DraftArgument
from kernel_lineage.rewrite.drafting.preprocessed import active_text
from kernel_lineage.rewrite.drafting.roles import roles_of
from kernel_lineage.rewrite.launch_expressions import HostExpression, NotExpressible, from_cpp
from kernel_lineage.rewrite.programs import device_text

_BYTES = {"float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "float16": 2, "bfloat16": 2,
          "int16": 2, "uint16": 2, "int8": 1, "uint8": 1, "bool": 1}  # fmt: skip
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*[\w:<> ]+?\s*\)")


@dataclass(slots=True)
class _Known:
    """What is found on the way, while one launch is read."""

    text: str
    """The device code with its headers."""
    constants: Mapping[str, str]
    threads: set[str] = field(default_factory=set)
    """Names of numbers of threads: they are no sizes of the data."""
    reading_block: bool = False
    dims: dict[str, int] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class _Resolve(HostExpression):
    """Names of a scope to dims: a local by its value, a parameter by what the caller gives, a number by its name."""

    def __init__(self, scope: Scope | None, known: _Known, depth: int = 16) -> None:
        super().__init__()
        self._scope, self._known_names, self._depth = scope, known, depth

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802 - the name that `ast` calls
        if self._depth == 0:
            raise NotExpressible(node.id)
        scope = self._scope
        if scope is not None and node.id in scope.given and scope.caller is not None:
            return _tree(scope.given[node.id], scope.caller, self._known_names, self._depth - 1)
        local = scope.function.locals.get(node.id) if scope is not None else None
        if local is not None and scope is not None:
            number = literal(local)
            if isinstance(number, int) and (
                self._known_names.reading_block or node.id in self._known_names.threads
            ):
                self._known_names.threads.add(node.id)
                return ast.Constant(number)
            if isinstance(number, int) and scope.caller is not None and _is_constant(local):
                return ast.Constant(number)
            if isinstance(number, int):
                return ast.Name(self._dim(node.id, number, scope), ast.Load())
            if number is not None:
                return ast.Constant(number)
            return _tree(text_of(local), scope, self._known_names, self._depth - 1)
        constant = self._known_names.constants.get(node.id)
        if constant is not None:
            return _tree(constant, scope, self._known_names, self._depth - 1)
        raise NotExpressible(node.id)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        """`block_sizes[j]` of a list of numbers is one of them."""
        scope, name = self._scope, node.value
        local = (
            scope.function.locals.get(name.id) if scope is not None and isinstance(name, ast.Name) else None
        )
        number = literal(local) if local is not None else None
        if number is None:
            raise NotExpressible(ast.unparse(node))
        said = f"{ast.unparse(node.value)} holds several numbers; {number} is taken"
        if said not in self._known_names.said:
            self._known_names.said.append(said)
        return ast.Constant(number)

    def _dim(self, name: str, number: int, scope: Scope) -> str:
        """A dim of that name, or with the function's name where another one has the name already."""
        taken = self._known_names.dims.get(name)
        if taken is not None and taken != number:
            name = f"{name}_{scope.function.name}"
        if name not in self._known_names.dims:
            self._known_names.dims[name] = number
            self._known_names.said.append(f"{name} is {number} in {scope.function.name}")
        return name


def _is_constant(value: Node) -> bool:
    """Whether a local is declared `const` or `constexpr`."""
    declarator = value.parent
    declaration = declarator.parent if declarator is not None else None
    return declaration is not None and "const" in text_of(declaration).split("=")[0]


def _with_sizes(text: str, known: _Known) -> str:
    """An expression in which `sizeof` an alias is the number of its bytes."""

    def size(match: re.Match[str]) -> str:
        dtype = _alias(match[1], known)
        return str(_BYTES[dtype]) if dtype in _BYTES else match[0]

    return re.sub(r"\bsizeof\s*\(\s*(\w+)\s*\)", size, text)


def _tree(text: str, scope: Scope | None, known: _Known, depth: int) -> ast.expr:
    try:
        tree = ast.parse(from_cpp(_with_sizes(text, known)).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotExpressible(text) from error
    resolved = _Resolve(scope, known, depth).visit(tree)
    if not isinstance(resolved, ast.expr):
        raise NotExpressible(text)
    return resolved


def _expressed(text: str, scope: Scope | None, known: _Known) -> str:
    return ast.unparse(_tree(text, scope, known, 16))


def draft_from_launch(kernel: Kernel, path: Path, launch: Launch, root: Path) -> Draft:
    """The draft of a CUDA C++ kernel by one of its launches; headers are read below `root`."""
    text = active_text(device_text(kernel, path, launch.template_arguments, root))
    known = _Known(text, constants_of(replace(kernel, source=None, text=text)))
    scope = scope_of(kernel.source, launch) if kernel.source is not None else None
    roles = roles_of(kernel)

    def launched(what: str, texts: tuple[str, ...]) -> tuple[str, ...]:
        found = []
        for text in texts:
            try:
                found.append(_expressed(text, scope, known))
            except NotExpressible as error:
                known.missing.append(f"the launch's {what} `{text}`: nothing tells {error}")
        return tuple(found)

    known.reading_block = True
    block = launched("block", launch.block)
    known.reading_block = False
    arguments = []
    for parameter, given in zip(kernel.parameters, launch.arguments, strict=False):
        role = roles.get(parameter.name, "input")
        arguments.append(_argument(parameter, given, role, scope, known))
    for parameter in kernel.parameters[len(launch.arguments) :]:
        known.missing.append(f"the value of {parameter.name}, which the launch does not give")

    grid = launched("grid", launch.grid)
    shared = launched("shared bytes", (launch.shared_bytes or "0",))
    return Draft(
        kernel.name,
        kernel.language,
        path.name,
        known.dims,
        known.dims,
        tuple(arguments),
        grid,
        block,
        shared[0] if shared else "0",
        assumed=tuple(known.said),
        missing=tuple(dict.fromkeys(known.missing)),
    )


def _argument(
    parameter: Parameter, given: str, role: str, scope: Scope | None, known: _Known
) -> DraftArgument:
    dtype = _dtype(parameter, given, scope, known)
    if not parameter.pointer:
        try:
            value = _expressed(given, scope, known)
            if dtype in ("float32", "float64"):
                value = value.replace("//", "/")
            return DraftArgument(parameter.name, "scalar", dtype, value=value)
        except NotExpressible as error:
            known.missing.append(
                f"the value of {parameter.name}, `{given}` at the launch: nothing tells {error}"
            )
            return DraftArgument(parameter.name, "scalar", dtype)
    shape = _shape(parameter.name, given, scope, known, dtype)
    values = ""
    if role != "output" and dtype is not None and not dtype.startswith(("float", "bfloat")):
        values = _integers(given, scope, known)
        if not values and role == "input":
            known.missing.append(f"the range of the values of {parameter.name}")
    return DraftArgument(parameter.name, role, dtype, shape, values)


def _shape(
    name: str, given: str, scope: Scope | None, known: _Known, dtype: str | None
) -> tuple[str, ...] | None:
    """The extents of a buffer, from what is allocated for it."""
    plain = re.sub(r"^\(\s*[\w\s]+\*+\s*\)", "", given.strip()).strip("() ")
    here, place = scope.origin(plain) if scope is not None and plain.isidentifier() else (plain, scope)
    size = place.function.allocated(here) if place is not None else ""
    if not size:
        known.missing.append(f"the shape of {name}: nothing allocates `{given}`")
        return None
    per_element = len(_SIZEOF.findall(size)) == 1
    try:
        tree = _tree(_SIZEOF.sub("1", size) if per_element else size, place, known, 16)
    except NotExpressible as error:
        known.missing.append(f"the shape of {name}: `{size}` bytes are allocated, and nothing tells {error}")
        return None
    if not per_element:
        return (f"({ast.unparse(tree)}) // {_BYTES.get(dtype or '', 4)}",)
    return tuple(ast.unparse(f) for f in _factors(tree)) or ("1",)


def _factors(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        return [*_factors(tree.left), *_factors(tree.right)]
    return [] if isinstance(tree, ast.Constant) and tree.value == 1 else [tree]


def _integers(given: str, scope: Scope | None, known: _Known) -> str:
    """`integers(0, V)` for an array that is copied from one filled with random integers below V."""
    if scope is None or not given.isidentifier():
        return ""
    here, place = scope.origin(given)
    host = place.function.copied_from(here)
    filled = place.function.locals.get(host)
    match = re.fullmatch(r"make_random_int\s*\((.*),\s*([^,]+)\)", text_of(filled), re.DOTALL)
    if match is None:
        return ""
    try:
        return f"integers(0, {_expressed(match[2], place, known)})"
    except NotExpressible:
        return ""


def _dtype(parameter: Parameter, given: str, scope: Scope | None, known: _Known) -> str | None:
    """What a parameter is declared as, or the array that it is given."""
    name = parameter.name
    if parameter.dtype is not None:
        return parameter.dtype
    word = re.sub(r"\b(const|volatile|__restrict__|restrict)\b|[*&\s]", " ", parameter.type).strip()
    dtype = _alias(word, known)
    if dtype is None and scope is not None and given.isidentifier():
        here, place = scope.origin(given)
        word = place.function.types.get(here, "")
        dtype = DTYPES.get(word) or _alias(word, known)
    if dtype is None:
        known.missing.append(f"the dtype of {name}: nothing tells what `{parameter.type}` is")
    return dtype


def _alias(word: str, known: _Known) -> str | None:
    """The dtype of an alias such as `typedef float floatX`; the last definition is the one without any option."""
    name = re.escape(word)
    defined = rf"typedef\s+([\w ]+?)\s+{name}\s*;|using\s+{name}\s*=\s*([\w ]+?)\s*;"
    names = [DTYPES[n] for pair in re.findall(defined, known.text) for n in pair if n in DTYPES]
    return names[-1] if word and names else None
