"""What a replacement for a kernel may be: that kernel and nothing else, with no reach beyond device code.

A replacement is put into a person's file, so text that ends the kernel early and goes on with host code, an include,
a macro or an initialiser with effects would be an edit outside the range. These checks are mechanical, on the parsed
replacement, and come before the gate; they do not say that the code is right.
"""

from __future__ import annotations

import ast
import re
from functools import cache

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.words import WORD_OF_BYTES
from kernel_lineage.rewrite.model.answer import AnswerError

_ALLOWED_PRAGMA = re.compile(r"#\s*pragma\s+(unroll|nounroll)\b[^\n]*$")
_RESPELT = re.compile(r"%:|\?\?[=/<>!'()-]|\\\r?\n")
_FORBIDDEN_NAMES = frozenset(
    {"_Pragma", "__has_include", "__has_embed", "__host__", "__attribute__", "__declspec"}
)


def check_replacement(kernel: Kernel, text: str) -> None:
    """Whether the text may take the place of the kernel's definition. Raises `AnswerError` when not."""
    if "\0" in text:
        raise AnswerError("The replacement holds a NUL character.")
    if kernel.language is Language.CUDA:
        _check_cuda(kernel, text)
    else:
        _check_triton(kernel, text)


@cache
def _parser() -> Parser:
    import tree_sitter_cuda

    return Parser(Grammar(tree_sitter_cuda.language()))


def _check_cuda(kernel: Kernel, text: str) -> None:
    if _RESPELT.search(text):
        raise AnswerError(
            "The replacement spells `#` or a line's end in a roundabout way (digraph, trigraph, splice)."
        )
    for line in text.splitlines():
        if "#" in line and not _ALLOWED_PRAGMA.fullmatch(line.strip()):
            raise AnswerError(
                f"The replacement holds a preprocessor line outside its reach: {line.strip()[:80]!r}."
            )
    if re.search(r"\basm\b|\b__asm", text) and re.search(r"\.(include|file|section)\b", text):
        raise AnswerError("The replacement's inline PTX names a file or a section.")
    for word in re.findall(r"\w+", text):
        if word in _FORBIDDEN_NAMES:
            raise AnswerError(f"The replacement uses {word}, which reaches beyond device code.")
    root = _parser().parse(text.encode()).root_node
    if root.has_error:
        raise AnswerError(f"The replacement does not parse as CUDA C++ near line {_error_line(root)}.")
    last = root.children[-1] if root.children else None
    if last is not None and last.type == "comment":
        raise AnswerError(
            "The replacement ends with a comment, which could swallow what follows it in the file."
        )
    entries: list[str] = []
    for node in root.named_children:
        if node.type == "comment":
            continue
        if node.type == "preproc_call":
            raise AnswerError("The replacement holds a pragma outside the kernel.")
        entries.append(_definition_name(node, kernel))
    if entries.count(kernel.name) != 1:
        raise AnswerError(f"The replacement must define {kernel.name} exactly once.")
    taken = {n.decode() for n in WORD_OF_BYTES.findall(kernel.source.data)} if kernel.source else set()
    for name in entries:
        if name != kernel.name and name in taken:
            raise AnswerError(f"The replacement defines {name}, a name that the file uses already.")
    if _parameters(text, kernel.name) != _parameters(kernel.text, kernel.name):
        raise AnswerError(
            f"The replacement changes the parameters of {kernel.name}; its callers would break."
        )


def _definition_name(node: Node, kernel: Kernel) -> str:
    """The name that a top-level definition gives, if it is the kernel or a `__device__` function."""
    definition = node
    extern_c = node.type == "linkage_specification" and "extern_c" in kernel.attributes
    if node.type == "template_declaration" or extern_c:
        definition = next((c for c in node.named_children if c.type == "function_definition"), node)
    if definition.type != "function_definition":
        raise AnswerError(
            f"The replacement holds something besides the kernel and its __device__ functions: "
            f"{_first_line(node)!r} (an edit outside is refused)."
        )
    declarator = definition.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    named = declarator.child_by_field_name("declarator") if declarator is not None else None
    name = named.text.decode() if named is not None and named.text is not None else ""
    head = _head(definition)
    if name == kernel.name:
        if "__global__" not in head:
            raise AnswerError(f"The replacement's {name} is no kernel (__global__ is missing).")
    elif "__device__" not in head or "__global__" in head:
        raise AnswerError(f"The replacement defines {name or 'a function'}, which is no __device__ function.")
    return name


def _head(definition: Node) -> str:
    body = definition.child_by_field_name("body")
    data = definition.text or b""
    return (data[: body.start_byte - definition.start_byte] if body is not None else data).decode()


def _first_line(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace").splitlines()[0][:80]


def _error_line(node: Node) -> int:
    while True:
        child = next((c for c in node.children if c.has_error or c.is_missing), None)
        if child is None or node.is_error:
            return node.start_point.row + 1
        node = child


def _parameters(text: str, name: str) -> list[str]:
    """Parameters in order, without what a caller does not see: `const` of a pointee, `__restrict__`, spacing.

    A pointee's `const` may be added, because a caller may pass a pointer to mutable data for it.
    """
    root = _parser().parse(text.encode()).root_node
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "function_declarator":
            named = node.child_by_field_name("declarator")
            parameters = node.child_by_field_name("parameters")
            if named is not None and parameters is not None and named.text == name.encode():
                return [
                    _without_qualifiers(p.text or b"")
                    for p in parameters.named_children
                    if p.type != "comment"
                ]
        stack.extend(reversed(node.children))
    return []


def _without_qualifiers(parameter: bytes) -> str:
    words = re.findall(r"\w+|[^\w\s]", parameter.decode("utf-8", "replace"))
    return " ".join(w for w in words if w not in ("const", "__restrict__", "__restrict", "restrict"))


def _check_triton(kernel: Kernel, text: str) -> None:
    try:
        new, old = ast.parse(text).body, ast.parse(kernel.text).body
    except SyntaxError as error:
        raise AnswerError(
            f"The replacement does not parse as Python: {error.msg}, line {error.lineno}."
        ) from error
    if len(new) != 1 or not isinstance(new[0], ast.FunctionDef) or new[0].name != kernel.name:
        raise AnswerError(f"The replacement must be the function {kernel.name} and nothing else.")
    before, after = old[0], new[0]
    if not isinstance(before, ast.FunctionDef):
        raise AnswerError(f"{kernel.name} is not a plain function; the model lane leaves it alone.")
    # Decorators, defaults and annotations run on the host when the module is imported.
    if [ast.dump(d) for d in after.decorator_list] != [ast.dump(d) for d in before.decorator_list]:
        raise AnswerError(f"The replacement changes the decorators of {kernel.name}, which run on the host.")
    if ast.dump(after.args) != ast.dump(before.args) or ast.dump(after.returns or ast.Pass()) != ast.dump(
        before.returns or ast.Pass()
    ):
        raise AnswerError(
            f"The replacement changes the parameters of {kernel.name}; its callers would break."
        )
    for node in ast.walk(after):
        if node is not after and isinstance(
            node,
            ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Lambda,
        ):
            raise AnswerError(
                f"The replacement holds an inner {type(node).__name__}, line {getattr(node, 'lineno', 1)}."
            )
