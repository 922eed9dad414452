"""What a type that a kernel's text names stands for: other names of types, and the parameters of its template.

Code that an assist writes declares by the name in the text, which is right for all that it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kernel_gate.expressions import split_at_commas
from kernel_lineage.code.types import DTYPES, PLAIN
from kernel_lineage.kernels.cuda_forms import inside
from kernel_lineage.kernels.cuda_forms import text_of as node_text
from kernel_lineage.kernels.cuda_parameters import aliases_of, meant_type
from kernel_lineage.kernels.cuda_text import text_of
from kernel_lineage.kernels.source import Kernel, Launch, Parameter
from kernel_lineage.workloads.following.functions import bare_type, declared_name
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.following.ways import templates_launched

_DECLARING = {"declaration", "parameter_declaration", "optional_parameter_declaration"}
_CAST = re.compile(
    r"(?:\w+(?:\.|->)(?:mutable_|const_)?data_ptr|static_cast|reinterpret_cast)\s*"
    r"<\s*(?:const\s+)?([\w: ]+?)\s*\*?\s*>"
)
"""`x.data_ptr<float>()`, `static_cast<float*>(x)`."""
_OF_POINTERS = re.compile(r"\b(?:const|__restrict__|__restrict|restrict)\b|\*")


def type_parameters(kernel: Kernel) -> frozenset[str]:
    """The names of a kernel's type parameters: `T` of `template <typename T>`."""
    return frozenset(p.name for p in kernel.template_parameters if p.type is None)


def plain_type(kernel: Kernel, written: str) -> str:
    """A type by the one name that C++ has for it, without qualifiers: `unsigned int` for `const u32` of
    `using u32 = std::uint32_t`. A type parameter stays, and so does a type that is not known.
    """
    aliases = aliases_of(kernel.source) if kernel.source is not None else {}
    own = type_parameters(kernel)
    meant = meant_type(written, {name: type_ for name, type_ in aliases.items() if name not in own})
    return PLAIN.get(DTYPES.get(meant, ""), meant)


def types_meant(kernel: Kernel, name: str) -> frozenset[str]:
    """The types that a type's name stands for, as `plain_type`: its own, or what the launches and instantiations of the
    file give a type parameter.

    Empty where a launch does not tell, nor the calls of the template that it stands in.
    """
    name = plain_type(kernel, name)
    if name not in type_parameters(kernel):
        return frozenset({name})
    position = [p.name for p in kernel.template_parameters].index(name)
    types: set[str] = set()
    for launch in kernel.launches:
        for type_ in launch.template_arguments[position : position + 1] or (_deduced(kernel, launch, name),):
            meant = _of_calls(kernel, launch.launcher, type_, position) if launch.launcher else {type_}
            if "" in meant or not meant:
                return frozenset()
            types |= meant
    for arguments in _instantiated(kernel):
        types |= set(arguments[position : position + 1] or ("",))
    return frozenset() if "" in types else frozenset(plain_type(kernel, type_) for type_ in types)


def dtypes_meant(kernel: Kernel, written: str) -> frozenset[str]:
    """NumPy's names of the types that a type stands for; empty where one of them is not known."""
    dtypes = {DTYPES.get(one, "") for one in types_meant(kernel, written)}
    return frozenset() if "" in dtypes else frozenset(dtypes)


def spelt(kernel: Kernel, written: str, names: Mapping[str, str]) -> str:
    """The name that code may declare by where `names` has all that a type stands for: a type parameter's own name, else
    that of `names`; "" where `names` has not.
    """
    dtypes, own = dtypes_meant(kernel, written), plain_type(kernel, written)
    if not dtypes or not dtypes <= names.keys():
        return ""
    return own if own in type_parameters(kernel) else names[min(dtypes)]


def pointee_of(parameter: Parameter | None) -> str:
    """The type that a pointer parameter points to, as it is written; "" for any other parameter."""
    if parameter is None or not parameter.pointer or "volatile" in parameter.type:
        return ""
    stars = parameter.type.count("*") + parameter.type.count("[")
    return " ".join(_OF_POINTERS.sub(" ", parameter.type.partition("[")[0]).split()) if stars == 1 else ""


def _instantiated(kernel: Kernel) -> Iterator[tuple[str, ...]]:
    """The template arguments that the file instantiates a kernel with: `template __global__ void twice<half>(…);`."""
    if kernel.source is None:
        return
    head = rf"\btemplate\s+(?!<)[^;{{}}<>()]*\b{re.escape(kernel.name)}\s*<([^;(){{}}]*)>\s*\("
    for match in re.finditer(head.encode(), text_of(kernel.source.data).code):
        yield tuple(split_at_commas(match[1].decode("utf-8", "replace"), "<", ">"))


def _unit(kernel: Kernel) -> Unit | None:
    return unit_of(kernel.source.data.decode("utf-8", "replace")) if kernel.source is not None else None


def _deduced(kernel: Kernel, launch: Launch, name: str) -> str:
    """The type that a launch gives a type parameter by what its arguments are declared as; "" where none tells."""
    unit = _unit(kernel)
    if unit is None:
        return ""
    own: dict[str, set[tuple[str, int]]] = {}
    hosts = [f.node for f in unit.functions.get(launch.launcher or "", ())]
    around = [n for n in hosts if n.start_byte <= launch.span.start < n.end_byte]
    for node in (n for host in around for n in inside(host) if n.type in _DECLARING):
        kind = bare_type(node_text(node.child_by_field_name("type")))
        for declarator in node.children_by_field_name("declarator"):
            variable, stars = declared_name(declarator)
            own.setdefault(variable, set()).add((kind, stars))
    declared = {n: {of_file} for n, of_file in unit.globals.items()} | own
    types = set[str]()
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        pointer = pointee_of(parameter) == name
        if not pointer and meant_type(parameter.type, {}) != name:
            continue
        cast = _CAST.match(argument)
        kinds = {(cast[1], int(pointer))} if cast is not None else declared.get(argument, set())
        types |= {kind if stars == pointer else "" for kind, stars in kinds}
    return types.pop() if len(types) == 1 else ""


def _of_calls(kernel: Kernel, launcher: str, type_: str, position: int) -> set[str]:
    """What a type in a host function stands for: itself, or for a type parameter of the function what calls of it say;
    "" where one does not.
    """
    unit = _unit(kernel)
    hosts = [f for f in unit.functions.get(launcher, ()) if type_ in f.template] if unit is not None else []
    if unit is None or not hosts:
        return {type_}
    written = list(_calls(unit, launcher))
    if len(written) == 1:
        templates = templates_launched(unit, kernel.name)
        return {template[position] for template in templates if position < len(template)}
    at = hosts[0].template.index(type_)
    types = {arguments[at] if at < len(arguments) else "" for arguments in written}
    return (
        types if not types & {t for fs in unit.functions.values() for f in fs for t in f.template} else set()
    )


def _calls(unit: Unit, function: str) -> Iterator[tuple[str, ...]]:
    """The template arguments that each call of a host function is written with."""
    called = re.compile(rf"\b{re.escape(function)}\s*(?:<([^;(){{}}]*)>)?\s*\(")
    for code in (code for codes in unit.functions.values() for code in codes if function in code.words):
        for match in called.finditer(code.body.text.decode() if code.body.text is not None else ""):
            yield tuple(split_at_commas(match[1] or "", "<", ">"))
