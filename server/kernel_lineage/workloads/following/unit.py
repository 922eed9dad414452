"""The host side of a text of CUDA C++: its functions, macros and structs, and which of them lead to a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tree_sitter import Node

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.kernels.cuda_text import Macro, at_commas
from kernel_lineage.kernels.cuda_text import text_of as layers
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.bindings import Defaults, read_bindings
from kernel_lineage.workloads.following.functions import (
    HostCode,
    HostParameter,
    bare_type,
    declared_name,
    host_code,
    template_names,
    words_in,
)
from kernel_lineage.workloads.following.types import VECTORS


def _vectors() -> dict[str, tuple[HostParameter, ...]]:
    return {
        name: tuple(HostParameter(axis, element) for axis in "xyzw"[: int(name[-1])])
        for name, element in VECTORS.items()
    }


@dataclass(frozen=True, slots=True)
class ClassCode:
    """A struct or class, of which a host function may ask static constants and types."""

    template: tuple[str, ...]
    """The names of its template parameters."""
    defaults: tuple[Node | None, ...]
    body: Node


@dataclass(slots=True)
class Unit:
    """A text, and what is defined in it."""

    text: str
    root: Node
    functions: dict[str, list[HostCode]] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    fields: dict[str, tuple[HostParameter, ...]] = field(default_factory=_vectors)
    """Struct → its plain fields; CUDA's own vectors among them."""
    constants: dict[str, Node] = field(default_factory=dict)
    """Variables outside of functions that are set where they are declared; enumerators."""
    variables: set[str] = field(default_factory=set)
    """Those outside of functions that are not const."""
    enumerators: set[str] = field(default_factory=set)
    """Constants of enumerations, each of which is a choice and no size."""
    types: dict[str, str] = field(default_factory=dict)
    """Alias → the type that it stands for."""
    globals: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Variables outside of functions without a value → their type and its stars."""
    classes: dict[str, ClassCode] = field(default_factory=dict)
    """Struct or class → its body; of a specialisation by its name with the arguments."""
    methods: dict[str, frozenset[str]] = field(default_factory=dict)
    """Function of some class, written in its body → the words that stand in functions of this name."""
    own_methods: dict[str, dict[str, list[HostCode]]] = field(default_factory=dict)
    """Struct or class → its functions of the host by their names, in its body or behind it."""
    enums: dict[str, str] = field(default_factory=dict)
    """Enumeration → its name with the namespaces and classes around it."""
    kernels: frozenset[str] = frozenset()
    defaults: Defaults = field(default_factory=dict)
    """What bindings give the parameters of functions that are left out."""
    bound: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Function → the names by which bindings give it to Python."""
    _addresses: dict[tuple[str, bool], bool] = field(default_factory=dict)
    _device_words: frozenset[str] | None = None
    _free_constants: frozenset[str] | None = None

    def fields_of(self, kind: str) -> tuple[HostParameter, ...]:
        """The plain fields of a struct, or of an instance of a struct template; none of another type."""
        template, _, rest = kind.partition("<")
        name = template.strip().rpartition("::")[2]
        if kind in self.fields or not rest or template.startswith("std::"):
            return self.fields.get(kind) or self.fields.get("" if template.startswith("std::") else name, ())
        code = self.classes.get(name)
        arguments = at_commas(rest.rpartition(">")[0])
        defaults = code.defaults[len(arguments) :] if code is not None else ()
        arguments = (*arguments, *(text_of(default) for default in defaults if default is not None))
        types = dict(zip(code.template if code is not None else (), arguments, strict=False))
        return tuple(replace(f, type=types.get(f.type, f.type)) for f in self.fields.get(name, ()))

    def device_words(self) -> frozenset[str]:
        """Names in the text of what runs on the device."""
        if self._device_words is None:
            functions = [f for fs in self.functions.values() for f in fs if not f.of_host]
            names = frozenset[str]().union(*(words_in(f.node) for f in functions))
            self._device_words = self._reached(names)
        return self._device_words

    def free_constants(self) -> frozenset[str]:
        """The macros and constants outside of functions that only the host's calculations name: neither device code nor
        an argument of a template has their value.
        """
        if self._free_constants is None:
            self._free_constants = self._sizes_outside() - self.device_words()
        return self._free_constants

    def compiled_constants(self) -> frozenset[str]:
        """The macros and constants outside of functions whose values device code has, but for those of templates."""
        return self._sizes_outside() & self.device_words()

    def _sizes_outside(self) -> frozenset[str]:
        """The macros and constants outside of functions that may be sizes: no choices, no arguments of templates."""
        listed = (n for n in inside(self.root) if n.type == "template_argument_list")
        of_templates = self._reached(frozenset[str]().union(*map(words_in, listed)))
        macros = {n for n, m in self.macros.items() if m.parameters is None}
        return frozenset((macros | self.constants.keys()) - of_templates - self.enumerators)

    def _reached(self, names: frozenset[str]) -> frozenset[str]:
        """Names, and those that the macros, constants and structs of these names are made of."""

        def made_of(name: str) -> list[str]:
            macro, code = self.macros.get(name), self.classes.get(name)
            nodes = (self.constants.get(name), code.body if code is not None else None)
            return WORD.findall(" ".join([macro.body if macro is not None else "", *map(text_of, nodes)]))

        return frozenset(reachable(names, made_of))

    def leading_to(self, kernel: str) -> frozenset[str]:
        """The names of host functions and macros by which a kernel is launched, its own among them."""
        names = {kernel}
        words = {
            n: frozenset().union(*(f.words for f in fs if f.of_host)) for n, fs in self.functions.items()
        }
        words |= {m.name: frozenset(WORD.findall(m.body)) for m in self.macros.values()}
        for name, inner in self.methods.items():
            words[name] = words.get(name, frozenset()) | inner
        while more := {n for n, inner in words.items() if n not in names and inner & names}:
            names |= more
        return frozenset(names)

    def is_empty(self, name: str) -> bool:
        """Whether a structure that is no template has no bytes of its own, as one that is only called."""
        code = self.classes.get(name)
        if code is None or code.template or code.body.parent is None or "virtual" in text_of(code.body):
            return False
        bases = any(c.type == "base_class_clause" for c in code.body.parent.named_children)
        return not bases and not any(map(is_field, code.body.named_children))

    def launched_by(self, function: str) -> frozenset[str]:
        """The kernels that a function of the host launches, itself or by functions and macros that it names."""

        def named_in(name: str) -> Iterator[str]:
            yield from (word for f in self.functions.get(name, ()) if f.of_host for word in f.words)
            yield from WORD.findall(self.macros[name].body) if name in self.macros else ()
            yield from self.methods.get(name.rpartition("::")[2], ())

        reached = frozenset(reachable([function], named_in))
        return self.kernels & reached if self.hosts(function) else frozenset()

    def hosts(self, name: str) -> list[HostCode]:
        """The functions of a name; methods where no function has it: `Class::method`, or `method` alone.

        A method is whole with the constructor of its object: the parameters of that come first, `Class_n` where both
        have an `n`.
        """
        free = [f for f in self.functions.get(name, ()) if f.of_class not in self.classes]
        if free:
            return free
        scope, _, last = name.rpartition("::")
        owners = [scope.rpartition("::")[2]] if scope else [*self.own_methods]
        return [
            self._whole(method)
            for owner in owners
            if owner in self.classes and not self.classes[owner].template
            for method in self.own_methods[owner].get(last, ())
        ]

    def defined(self, name: str) -> list[HostCode]:
        """The functions and methods of a name."""
        free = [f for f in self.functions.get(name, ()) if f.of_class not in self.own_methods]
        return free + [f for by_name in self.own_methods.values() for f in by_name.get(name, ())]

    def method_at(self, place: int) -> str:
        """The method, `Class::method`, in whose definition a byte of the text stands; "" for none."""
        return next(
            (
                f"{owner}::{method.name}"
                for owner, by_name in self.own_methods.items()
                if owner in self.classes
                for methods in by_name.values()
                for method in methods
                if method.node.start_byte <= place < method.node.end_byte
            ),
            "",
        )

    def _whole(self, method: HostCode) -> HostCode:
        """A method with the constructor of its object."""
        maker = self._maker(method.of_class)
        taken = {p.name for p in method.parameters}
        first = tuple(
            replace(p, name=f"{method.of_class}_{p.name}" if p.name in taken else p.name)
            for p in (maker.parameters if maker is not None else ())
        )
        name = f"{method.of_class}::{method.name}"
        words = method.words | (maker.words if maker is not None else frozenset())
        return replace(method, name=name, parameters=(*first, *method.parameters), words=words, made_by=maker)

    def _maker(self, kind: str) -> HostCode | None:
        """The constructor of a class with the fewest parameters; None where the class has one that is not written."""
        body = self.classes[kind].body
        if re.search(rf"\b{re.escape(kind)}\s*\(\s*\)\s*=\s*default\b", text_of(body)):
            return None
        listed = self.own_methods[kind].get(kind, ())
        makers = [f for f in listed if [bare_type(p.type) for p in f.parameters] != [kind]]
        return min(makers, key=lambda f: sum(p.default is None for p in f.parameters), default=None)

    def gives_address(self, name: str, is_field: bool) -> bool:
        """Whether some statement gives a variable, or a field of that name, an address: it is not null on all ways."""
        if (name, is_field) not in self._addresses:
            place = rf"\w+(?:->|\.)\s*{re.escape(name)}\b"
            ways = [rf"&\s*{place}(?!\s*(?:\[|->|\.))", rf"\b[A-Z][A-Z0-9_]+\(\s*{place}"]
            ways.append(rf"{place}\s*=(?!=|\s*(?:NULL|nullptr|0)\b)")
            texts = ways if is_field else [rf"&\s*{re.escape(name)}\b"]
            self._addresses[name, is_field] = re.search("|".join(texts), self.text) is not None
        return self._addresses[name, is_field]

    def may_be_set(self, place: str) -> bool:
        """Whether what is kept in a variable or field (`.name`) may have an address although it was null at first."""
        return bool(place) and self.gives_address(place.removeprefix("."), place.startswith("."))

    def is_led_to(self, kernel: str) -> tuple[bool, bool]:
        """Whether some function leads to a kernel, and whether a program's `main` does."""
        hosts = self.entries(self.leading_to(kernel))
        return bool(hosts), any(f.name == "main" for f in hosts)

    def ways_to(self, kernel: str) -> list[tuple[frozenset[str], HostCode]]:
        """For each function that launches a kernel: the names by which it is called, its own and the kernel's too, with
        each function that calls one of them.
        """
        direct = {
            f.name: None for fs in self.functions.values() for f in fs if f.of_host and kernel in f.words
        }
        by_macros = self.leading_to(kernel) & {kernel, *self.macros}
        launching = [self.leading_to(name) | by_macros for name in direct] or [self.leading_to(kernel)]
        return [(leading, entry) for leading in launching for entry in self.entries(leading)]

    def outermost(self, kernel: str) -> frozenset[str]:
        """The functions that lead to a kernel and that nothing here calls; none where a program's `main` does."""
        leading = self.leading_to(kernel) - self.kernels
        hosts = [f for n in leading for f in self.functions.get(n, ()) if f.of_host]
        called = {w for f in hosts for w in f.words if w != f.name}
        names = {f.name for f in hosts}
        # `PYBIND11_MODULE(name, m) { … }` looks like a function; no other text can call it.
        macros = {f.name for f in hosts if _is_macro_with_body(f.node)}
        return frozenset() if "main" in names else frozenset(names - called - macros)

    def entries(self, leading: frozenset[str]) -> list[HostCode]:
        """The functions from which a kernel is launched: those that nobody calls first, `main` before all.

        Templates last: who calls them stands in another file, or takes no types from its arguments.
        """
        hosts = [f for n, fs in self.functions.items() if n in leading for f in fs]
        hosts = [f for f in hosts if f.of_host and f.words & leading]
        called = {w for f in hosts for w in f.words if w != f.name}

        def rank(function: HostCode) -> tuple[bool, bool, bool, int]:
            is_main, is_template = function.name == "main", bool(function.template)
            return (not is_main, is_template, function.name in called, function.node.start_byte)

        return sorted(hosts, key=rank)


@lru_cache(maxsize=16)
def unit_of(text: str) -> Unit:
    """What a text defines."""
    source = read(text.encode(), Language.CUDA)
    unit = Unit(text, source.root) if source.root is not None else _nothing()
    unit.kernels = frozenset(k.name for k in source.kernels)
    unit.defaults, unit.bound = read_bindings(text)
    unit.macros.update((m.name, m) for m in layers(text.encode()).macros)
    for node in _outside(unit.root):
        _keep(node, unit)
    return unit


def _nothing() -> Unit:
    root = read(b"\n", Language.CUDA).root
    if root is None:
        raise RuntimeError("an empty file of CUDA C++ has no syntax tree")
    return Unit("", root)


_AROUND = frozenset(
    {"namespace_definition", "declaration_list", "linkage_specification", "template_declaration", "preproc_if",
     "preproc_ifdef", "preproc_else", "preproc_elif", "translation_unit", "ERROR"}
)  # fmt: skip


def _outside(node: Node) -> Iterator[Node]:
    """The definitions that stand outside of functions."""
    for child in node.named_children:
        if child.type in _AROUND:
            yield from _outside(child)
        else:
            yield child


def _keep(node: Node, unit: Unit) -> None:
    if node.type == "function_definition":
        function = host_code(node)
        if function is not None:
            unit.functions.setdefault(function.name, []).append(function)
            if function.of_class and function.of_host:
                of_class = unit.own_methods.setdefault(function.of_class, {})
                of_class.setdefault(function.name, []).append(function)
    elif node.type in ("struct_specifier", "class_specifier", "type_definition"):
        _keep_struct(node, unit)
    elif node.type == "alias_declaration":
        name = text_of(node.child_by_field_name("name"))
        unit.types[name] = bare_type(text_of(node.child_by_field_name("type")))
    elif node.type == "enum_specifier":
        _keep_enumerators(node, unit)
    elif node.type == "declaration":
        kind = bare_type(text_of(node.child_by_field_name("type")))
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value")
            variable, stars = declared_name(declarator)
            if "const" not in text_of(node).split("=")[0]:
                unit.variables.add(variable)
            if value is not None and variable:
                unit.constants[variable] = value
            elif variable and declarator.type != "function_declarator":
                unit.globals[variable] = kind, stars


def _keep_struct(node: Node, unit: Unit) -> None:
    inner = node
    name = text_of(node.child_by_field_name("name"))
    if node.type == "type_definition":
        kind = node.child_by_field_name("type")
        name = text_of(node.child_by_field_name("declarator"))
        if kind is None:
            return
        if kind.type not in ("struct_specifier", "class_specifier"):
            unit.types[name] = bare_type(text_of(kind))
            return
        inner = kind
    body = inner.child_by_field_name("body")
    if body is None:
        return
    bases = next((c for c in inner.named_children if c.type == "base_class_clause"), None)
    if name:
        unit.classes.setdefault("".join(name.split()), _class_code(inner, body))
    fields = [
        f
        for base in (bases.named_children if bases is not None else ())
        for f in unit.fields.get(text_of(base), ())
    ]
    for child in body.named_children:
        if child.type == "alias_declaration":
            alias = text_of(child.child_by_field_name("name"))
            unit.types.setdefault(alias, bare_type(text_of(child.child_by_field_name("type"))))
        method = host_code(child) if child.type == "function_definition" else None
        if method is not None and method.of_host:
            unit.methods[method.name] = unit.methods.get(method.name, frozenset()) | method.words
            of_class = unit.own_methods.setdefault(name, {})
            of_class.setdefault(method.name, []).append(replace(method, of_class=name))
        if is_field(child):
            for declarator in child.children_by_field_name("declarator"):
                member, stars = declared_name(declarator)
                written = bare_type(text_of(child.child_by_field_name("type")))
                array = any(n.type == "array_declarator" for n in inside(declarator))
                if member:
                    const = any(text_of(c) == "const" for c in child.named_children)
                    initial = child.child_by_field_name("default_value")
                    fields.append(
                        HostParameter(member, written, stars, array=array, const=const, initial=initial)
                    )
    unit.fields[name] = tuple(fields)


def is_field(node: Node) -> bool:
    """Whether a part of a class's body declares fields of its instances."""
    return node.type == "field_declaration" and not any(text_of(c) == "static" for c in node.children)


def _class_code(node: Node, body: Node) -> ClassCode:
    around = node.parent
    if around is None or around.type != "template_declaration":
        return ClassCode((), (), body)
    listed = around.child_by_field_name("parameters")
    parameters = listed.named_children if listed is not None else []
    defaults = tuple(
        p.child_by_field_name("default_value") or p.child_by_field_name("default_type") for p in parameters
    )
    return ClassCode(template_names(around), defaults, body)


def _keep_enumerators(node: Node, unit: Unit) -> None:
    name = text_of(node.child_by_field_name("name"))
    around, scopes = node.parent, [name]
    while around is not None:
        if around.type in ("namespace_definition", "struct_specifier", "class_specifier"):
            scopes.append(text_of(around.child_by_field_name("name")))
        around = around.parent
    unit.enums[name] = "::".join(s for s in reversed(scopes) if s)
    before: Node | None = None
    after = 0
    for child in inside(node):
        if child.type != "enumerator":
            continue
        value = child.child_by_field_name("value")
        name = text_of(child.child_by_field_name("name"))
        unit.enumerators.add(name)
        if value is not None:
            unit.constants[name] = value
            before, after = value, 0
        else:
            # One without a value is one more than the one before it.
            text = f"{text_of(before)} + {after}" if before is not None else str(after)
            unit.macros.setdefault(name, Macro(name, None, text, 0, 0))
        after += 1


def _is_macro_with_body(node: Node) -> bool:
    """Whether a definition is a macro with a block behind it: it has no type, and is no member of a class."""
    is_member = any(around.type == "field_declaration_list" for around in above(node))
    declarator = text_of(node.child_by_field_name("declarator"))
    return node.child_by_field_name("type") is None and not is_member and "::" not in declarator.split("(")[0]
