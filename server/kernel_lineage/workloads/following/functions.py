"""The functions of host code: their names, parameters and bodies, as declarations of C++ write them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.words import WORD

PROGRAM = "main"
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|static|inline|constexpr|__restrict__|__restrict|restrict|struct|typename|enum|class)\b"
)
_VECTOR = re.compile(r"(?:std::)?vector<(\w(?:[\w: ]*\w)?)>")
"""A vector as `bare_type` leaves it: of one of pointers a blank is left."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HostParameter:
    """One parameter of a function."""

    name: str
    type: str
    """Without qualifiers, stars and references."""
    stars: int = 0
    reference: bool = False
    default: Node | None = None
    array: bool = False
    const: bool = False
    """Whether what a field points to is not written."""
    is_pack: bool = False
    initial: Node | None = None
    """What a field is set to where its structure is made."""


@dataclass(frozen=True, slots=True)
class HostCode:
    """One function that has a body."""

    name: str
    """Without its namespaces."""
    parameters: tuple[HostParameter, ...]
    template: tuple[str, ...]
    """The names of its template parameters."""
    body: Node
    node: Node
    words: frozenset[str]
    """Names in its body."""
    of_host: bool = True
    """Whether the host runs it."""
    of_class: str = ""
    """The class, or namespace, before its name where it is defined; of one in a class's body that class."""
    made_by: HostCode | None = None
    """The constructor of a method's object, whose parameters are the method's first ones; None for none that is written
    out, and for other functions.
    """


def words_in(node: Node) -> frozenset[str]:
    """The names in a piece of code."""
    return frozenset(WORD.findall(_COMMENT.sub(" ", text_of(node))))


def bare_type(written: str) -> str:
    """A type without qualifiers, stars and references."""
    return " ".join(_QUALIFIERS.sub(" ", written).replace("*", " ").replace("&", " ").split())


def element_of_vector(parameter: HostParameter) -> str:
    """The type of the elements of a parameter that is a vector of the host; "" for another one."""
    match = _VECTOR.fullmatch(parameter.type) if not parameter.stars else None
    return match[1] if match is not None else ""


def declared_name(declarator: Node | None) -> tuple[str, int]:
    """The name that a declarator introduces, and how many stars stand before it."""
    stars = 0
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        stars += declarator.type in ("pointer_declarator", "abstract_pointer_declarator")
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            kinds = (
                "identifier",
                "field_identifier",
                "pointer_declarator",
                "reference_declarator",
                "array_declarator",
            )
            inner = next((c for c in declarator.named_children if c.type in kinds), None)
        declarator = inner
    return (text_of(declarator) if declarator is not None else ""), stars


def host_code(node: Node) -> HostCode | None:
    """A function with a body; None for one without a name or a body."""
    body = node.child_by_field_name("body")
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type == "function_declarator"), None
        )
    if body is None or declarator is None:
        return None
    scope, _, name = text_of(declarator.child_by_field_name("declarator")).rpartition("::")
    name = name.split("<")[0].strip()
    listed = declarator.child_by_field_name("parameters")
    parameters = tuple(filter(None, map(host_parameter, listed.named_children))) if listed is not None else ()
    around = node.parent
    template: tuple[str, ...] = ()
    if around is not None and around.type == "template_declaration":
        template = template_names(around)
    head = text_of(node)[: body.start_byte - node.start_byte]
    of_host = "__global__" not in head and ("__device__" not in head or "__host__" in head)
    of_class = scope.rpartition("::")[2].strip()
    return HostCode(name, parameters, template, body, node, words_in(body), of_host, of_class)


def template_names(node: Node) -> tuple[str, ...]:
    """The names of a template's parameters."""
    lists = (c for c in node.named_children if c.type == "template_parameter_list")
    listed = node.child_by_field_name("parameters") or next(lists, None)
    names = []
    for child in listed.named_children if listed is not None else ():
        words = WORD.findall(text_of(child).split("=")[0])
        names.append(words[-1] if words else "")
    return tuple(names)


def host_parameter(node: Node) -> HostParameter | None:
    """One parameter; None for a comment or `void`."""
    if "parameter" not in node.type:
        return None
    declarator = node.child_by_field_name("declarator")
    name, stars = declared_name(declarator)
    kind = bare_type(text_of(node.child_by_field_name("type")))
    reference = declarator is not None and declarator.type == "reference_declarator"
    default = node.child_by_field_name("default_value")
    return HostParameter(name, kind, stars, reference, default, is_pack=node.type.startswith("variadic"))


def declared_values(function: HostCode) -> dict[str, str]:
    """Local → what it is set to where it is declared."""
    values: dict[str, str] = {}
    for node in inside(function.body):
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if value is not None:
            values.setdefault(declared_name(node)[0], text_of(value))
    return values
