"""Classes of the repository: their bases, their methods, and the objects that they make."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kernel_lineage.workloads.triton.objects import Class, Frame, Function, Instance, Method, Stopped
from kernel_lineage.workloads.triton.torch_bases import begin_as_torch
from kernel_lineage.workloads.triton.values import External, Unknown, anything

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader

_MOST_BASES = 12


def lineage_of(reader: Reader, of: Class) -> Iterator[Class | str]:
    """A class and those that it is derived from, nearest first; those that are not read by their dotted names."""
    left: list[Class | str] = [of]
    for _ in range(_MOST_BASES):
        if not left:
            return
        ancestor = left.pop(0)
        yield ancestor
        if isinstance(ancestor, Class):
            bases = [reader.read(b, ancestor.module) for b in ancestor.node.bases]
            left += [b if isinstance(b, Class) else b.name for b in bases if isinstance(b, (Class, External))]


def torch_base(reader: Reader, of: Class | str) -> str | None:
    """The dotted name of the class of torch that a class is derived from; None where it is from none."""
    bases = lineage_of(reader, of) if isinstance(of, Class) else ()
    return next((b for b in bases if isinstance(b, str) and b.startswith("torch.")), None)


def is_a(reader: Reader, of: Class | str, asked: Class) -> bool:
    """Whether a class is another one, or derived from it."""
    return isinstance(of, Class) and any(c == asked for c in lineage_of(reader, of))


def method_of(reader: Reader, of: Class, name: str, above: Class | None = None) -> Function | None:
    """The method of a name as a class has it; with `above`, that of the classes which `above` is derived from."""
    passed = above is None
    for ancestor in lineage_of(reader, of):
        if isinstance(ancestor, Class) and passed:
            for node in ancestor.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return Function(node, ancestor.module, of=ancestor)
        passed = passed or ancestor == above
    return None


def class_attribute(reader: Reader, of: Class, name: str) -> object:
    """What the body of a class, or of one that it is derived from, gives a name; None for a name that it has not."""
    for ancestor in lineage_of(reader, of):
        for node in ancestor.node.body if isinstance(ancestor, Class) else ():
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=target)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
                ) if target == name:
                    return reader.read(value, ancestor.module)  # type: ignore[union-attr]
    return None


def bound_to(function: Function, of: object, cls: Class) -> Function | Method:
    """A method as it is taken from an object, or from a class."""
    kinds = decorators(function.node)
    if "staticmethod" in kinds:
        return function
    return Method(function, cls if "classmethod" in kinds else of)


def decorators(node: ast.AST) -> frozenset[str]:
    """The last names of a function's decorators."""
    listed = getattr(node, "decorator_list", [])
    calls = (d.func if isinstance(d, ast.Call) else d for d in listed)
    return frozenset(ast.unparse(d).rpartition(".")[2] for d in calls)


def instance_attribute(reader: Reader, of: Instance, name: str) -> object:
    """`self.name`: what the object was given, else a method, a property or a value of its class."""
    if name in of.attributes:
        return of.attributes[name]
    if isinstance(of.of, str):
        return Unknown(f"`{of.of}.{name}`")
    function = method_of(reader, of.of, name)
    if function is not None:
        if decorators(function.node) & {"property", "cached_property"}:
            return reader.enter(function, [of], {})
        return bound_to(function, of, of.of)
    if name == "training":
        return True
    if name == "needs_input_grad":
        return (True,) * 64
    if name == "__class__":
        return of.of
    value = class_attribute(reader, of.of, name)
    return value if value is not None else External(f"{of.of.name}.{name}")


def _default(reader: Reader, default: ast.expr, of: Class) -> object:
    """The default of a field; of `field(default_factory=…)`, what the factory gives."""
    match default:
        case ast.Call(func=func, keywords=keywords) if ast.unparse(func).rpartition(".")[2] == "field":
            for keyword in keywords:
                if keyword.arg == "default_factory":
                    return reader.evaluate(ast.Call(keyword.value, [], []), Frame(reader, of.module, {}))
                if keyword.arg == "default":
                    return reader.read(keyword.value, of.module)
    return reader.read(default, of.module)


def member_of(reader: Reader, of: Class, name: str) -> Instance | None:
    """The member of an enumeration of this name, the same one each time; None for other classes and names."""
    bases = (b for b in lineage_of(reader, of) if isinstance(b, str))
    if not any(b.rpartition(".")[2].endswith(("Enum", "Flag")) for b in bases):
        return None
    key = (str(of.module.path), f"{of.name}.{name}")
    value = class_attribute(reader, of, name) if key not in reader.globals else None
    if key not in reader.globals and value is None:
        return None
    member = reader.globals.setdefault(key, Instance(of, {"name": name, "value": value}))
    return member if isinstance(member, Instance) else None


def member_with(reader: Reader, of: Class, value: object) -> Instance | None:
    """The member of an enumeration that has a value; None for other classes and values."""
    names = (
        n.targets[0].id
        for n in of.node.body
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    )
    members = (member_of(reader, of, name) for name in names)
    return next((m for m in members if m is not None and m.attributes["value"] == value), None)


def made_of(reader: Reader, of: Class, args: list[object], named: Mapping[str, object]) -> Instance:
    """An object of a class."""
    member = member_with(reader, of, args[0]) if len(args) == 1 and not named else None
    if member is not None:
        return member
    made, function = Instance(of), method_of(reader, of, "__init__")
    if function is None:
        base = torch_base(reader, of)
        if base is None or not begin_as_torch(reader, base, made, args, named):
            _fields(reader, made, of, args, named)
        return made
    try:
        reader.enter(function, [made, *args], named)
    except Stopped:
        made.attributes.setdefault("?", Unknown(f"{of.name}(…)"))
    if not reader.is_exact:
        made.attributes.update({n: anything(v) for n, v in made.attributes.items()})
    return made


def _fields(
    reader: Reader, made: Instance, of: Class, args: list[object], named: Mapping[str, object]
) -> None:
    """The attributes of a class of records: its annotated names, in order."""
    fields: dict[str, ast.expr | None] = {}
    for ancestor in reversed(list(lineage_of(reader, of))):
        for node in ancestor.node.body if isinstance(ancestor, Class) else ():
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                fields[node.target.id] = node.value
    for position, (name, default) in enumerate(fields.items()):
        if position < len(args):
            made.attributes[name] = args[position]
        elif name in named:
            made.attributes[name] = named[name]
        elif default is not None:
            made.attributes[name] = _default(reader, default, of)
    made.attributes.update({k: v for k, v in named.items() if k not in fields})
