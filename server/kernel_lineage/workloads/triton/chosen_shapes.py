"""Shapes for tensors of which no caller is known, from how functions take them apart: `B, T, H, D = q.shape`.

The extents are dims by the names that the code has for them, and their sizes are chosen.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from kernel_gate.expressions import Number
from kernel_lineage.workloads.chosen_sizes import stays_small, usual_number
from kernel_lineage.workloads.model import CHOSEN, UNTYPED
from kernel_lineage.workloads.triton.documented import Axes, documented_axes
from kernel_lineage.workloads.triton.host_modules import HostModule, called_in, names_of
from kernel_lineage.workloads.triton.listed_tensors import elements_listed
from kernel_lineage.workloads.triton.values import Open, Size, Tensor, size_of, text_of

_SIZES = (96, 64, 128, 48, 80)
"""For the dims that nothing tells, one after the other: they differ, so that swapped ones are seen."""
_SMALL = (2, 4, 3)
_INDEX = re.compile(r"(^|_)(idx|ids?|index|indices|targets?|labels?|offsets?|lens|seqlens|cu_seqlens)(_|$)")
"""Names of tensors of whole numbers."""
_FLOAT = 0.5
"""A floating-point number that nobody gives: neither 0 nor 1, which would hide a factor."""
_AXES = frozenset({"dim", "axis"})
"""Parameters that are axes, by torch's names for them."""
_TENSOR = re.compile(r"\bTensor\b")


@dataclass(frozen=True, slots=True)
class _Seen:
    """One place where a tensor is taken apart."""

    tensor: str
    axes: tuple[str, ...] = ()
    """The names of all axes."""
    axis: int = 0
    name: str = ""
    rank: int = 0
    """At least, where `axes` is empty."""
    like: str = ""
    """Another tensor that its shape is compared with."""


@dataclass(slots=True)
class Chosen:
    """Shapes for the parameters of a function."""

    module: HostModule
    start: str
    launcher: str
    floats: str
    """The dtype of data."""
    sizes: dict[str, Number] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    flags: bool = False
    """What a parameter is that is asked only whether it is true."""
    _shapes: dict[str, tuple[int | Size, ...]] = field(default_factory=dict)
    _wanted: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Tensor → its axes as the code uses it that was read before."""
    _first_notes: tuple[str, ...] = ()
    rankless: dict[str, str] = field(default_factory=dict)
    """Dim → the tensor that is taken to have one axis of it alone, as no code says how many it has."""

    def __post_init__(self) -> None:
        self._first_notes = tuple(self.said)

    def tensor(self, name: str, asked: bool) -> Tensor:
        """What a parameter is taken to be; without a shape while none is asked for."""
        if (asked or name in self._wanted) and name not in self._shapes:
            shape, why = self._shape(name)
            self._shapes[name] = shape
            self.said.append(f"{name} is taken to have the shape ({', '.join(map(text_of, shape))}){why}")
        dtype = "int64" if _INDEX.search(name) else self.floats
        text = f"{UNTYPED}{name}; {dtype} is assumed"
        if text not in self.said:
            self.said.append(text)
        return Tensor(name, self._shapes.get(name), dtype)

    def forget(self, tensor: str, dim: str) -> None:
        """Take back the shape of a tensor that is a dim of its own."""
        self.sizes.pop(dim, None)
        self.said[:] = [
            n
            for n in self.said
            if n not in (f"{dim}{CHOSEN}", f"{tensor} is taken to have the shape ({dim})")
        ]

    def chooses_again(self, wanted: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether shapes are to be chosen once more, as these tensors are used with more axes than they were given."""
        more = {n: axes for n, axes in wanted.items() if len(axes) > len(self._wanted.get(n, ()))}
        if not more:
            return False
        self._wanted.update(more)
        self._shapes.clear()
        self.sizes.clear()
        self.said[:] = self._first_notes
        return True

    def opened(self, name: str, default: object, annotation: str) -> object:
        """What a parameter is that may be a number: a whole one that nobody gives is a dim, an axis the last one."""
        elements = self._elements(name, annotation) if isinstance(default, Open) else ()
        if elements:
            self.said.append(
                f"{name} is taken to hold {', '.join(elements)}: nothing tells how many there are"
            )
            return [Open(element) for element in elements]
        if isinstance(default, Open) and name in _AXES and annotation in ("", "int"):
            self.said.append(f"{name} is taken to be -1: nothing tells it")
            return -1
        if isinstance(default, Open) and annotation in ("int", "Optional[int]", "int | None"):
            usual = None if stays_small(name) else usual_number(name)
            if usual is None:
                return self.dim(name)
            self.said.append(f"{name} is taken to be {usual}: nothing tells it")
            return usual
        if isinstance(default, Open) and annotation == "float":
            return self._fraction(name)
        if isinstance(default, Open) and (annotation == "bool" or (not annotation and self._is_flag(name))):
            self.said.append(f"{name} is taken to be {self.flags}: nothing tells it")
            return self.flags
        if (
            default is None
            and _TENSOR.search(annotation)
            and "Optional" not in annotation
            and "None" not in annotation
        ):
            return Open(name)
        return default

    def _elements(self, name: str, annotation: str) -> tuple[str, ...]:
        """The elements of a parameter that is a list of tensors."""
        functions = [self.module.functions[n] for n in self._way()]
        taken = {n for function in functions[:1] for n in names_of(function.args)}
        elements = elements_listed(name, annotation, functions)
        return tuple(f"{name}_{at}" if e in taken - {name} else e for at, e in enumerate(elements))

    def number(self, name: str, whole: bool) -> object:
        """What a parameter is that the kernel uses as a number: a dim where `whole`; open where it is an object."""
        if self._is_object(name):
            return Open(name)
        if not whole and _INDEX.search(name):
            self.said.append(f"{name} is taken to be 0: nothing tells it")
            return 0
        return self.dim(name) if whole else self._fraction(name)

    def _fraction(self, name: str) -> float:
        text = f"{name} is taken to be {_FLOAT}: nothing tells it"
        if text not in self.said:
            self.said.append(text)
        return _FLOAT

    def _is_flag(self, name: str) -> bool:
        """Whether a function asks of its parameter only whether it is true."""
        tests = [n.test for n in self._nodes() if isinstance(n, (ast.If, ast.IfExp))]
        asked = any(isinstance(t, ast.Name) and t.id == name for t in tests)
        return asked and not self._is_object(name)

    def _is_object(self, name: str) -> bool:
        """Whether a function takes an attribute or an element of its parameter."""
        used = (n.value for n in self._nodes() if isinstance(n, (ast.Attribute, ast.Subscript)))
        return any(isinstance(u, ast.Name) and u.id == name for u in used)

    def _nodes(self) -> list[ast.AST]:
        function = self.module.functions.get(self.start)
        return [*ast.walk(function)] if function is not None else []

    def dim(self, name: str) -> Size:
        """A dim of this name, with a size of its own."""
        if name not in self.sizes:
            table = _SMALL if stays_small(name) else _SIZES
            taken = sum(stays_small(n) == stays_small(name) for n in self.sizes)
            self.sizes[name] = table[taken % len(table)]
            self.said.append(f"{name}{CHOSEN}")
        return Size(name)

    def _functions(self) -> list[ast.FunctionDef]:
        """The functions of the module, those on the way to the launch first."""
        names = dict.fromkeys([*self._way(), *self.module.functions])
        return [self.module.functions[n] for n in names]

    def _way(self) -> list[str]:
        """The functions from the start to the launch, as far as the module has them."""
        functions = self.module.functions
        names = [n for n in dict.fromkeys([self.start, self.launcher]) if n in functions]
        for name in names:
            called = called_in(functions[name])
            names += [n for n in functions if n.rpartition(".")[2] in called and n not in names]
        return names

    def _shape(self, name: str) -> tuple[tuple[int | Size, ...], str]:
        """The shape of a tensor, and where it is from if no code says it."""
        axes = self._axes(name)
        documented = self._documented().get(name)
        if documented is None or (axes != (f"{name}_elements",) and len(axes) == len(documented)):
            return tuple(self.dim(a) for a in axes), ""
        names = {n.id for tree in documented for n in ast.walk(tree) if isinstance(n, ast.Name)}
        meant = {n: ast.Name(self.dim(self._meant(n)).text, ast.Load()) for n in names}
        return tuple(_extent(tree, meant) for tree in documented), ", as the text of its function says"

    def _documented(self) -> dict[str, Axes]:
        axes: dict[str, Axes] = {}
        for function in self._functions():
            axes = {**documented_axes(function, self.module.path), **axes}
        return axes

    def _meant(self, name: str) -> str:
        """What the code calls an axis that the text of a function names: where it takes the same tensor apart."""
        for tensor, documented in self._documented().items():
            axes = self._axes(tensor)
            for at, tree in enumerate(documented) if len(axes) == len(documented) else ():
                if isinstance(tree, ast.Name) and tree.id == name and not axes[at].startswith(f"{tensor}_"):
                    return axes[at]
        return name

    def _axes(self, name: str, compared: frozenset[str] = frozenset()) -> tuple[str, ...]:
        own = [self.module.functions[n] for n in self._way()]
        # A function beside the way may take another tensor of this name apart, by other names.
        beside = () if any(s.axes for f in own for s in _seen(f)) else self._functions()
        nodes = [*own, *(f for f in beside if f not in own)]
        rank = 0
        names: dict[int, str] = {}
        like: dict[str, None] = {}
        for function in nodes:
            seen = [s for s in _seen(function) if s.tensor == name]
            whole = next((s.axes for s in seen if s.axes), None)
            if whole is not None:
                return tuple(f"{name}_{i}" if a == "_" else a for i, a in enumerate(whole))
            for one in seen:
                rank = max(rank, one.rank)
                if one.like and one.like not in {name, *compared}:
                    like[one.like] = None
                if one.name:
                    names.setdefault(one.axis, one.name)
        if like:
            return self._axes(next(iter(like)), compared | {name})
        wanted = self._wanted.get(name, ())
        if len(wanted) > rank:
            rank = len(wanted)
            names = {**{at: axis for at, axis in enumerate(wanted) if axis}, **names}
        if rank == 0:
            self.rankless[f"{name}_elements"] = name
            return (f"{name}_elements",)
        if rank == 1 and -1 in names:
            rank = 2
        by_place = {a % rank: n for a, n in names.items() if -rank <= a < rank}
        return tuple(by_place.get(i, f"{name}_{i}") for i in range(rank))


def _extent(tree: ast.expr, meant: Mapping[str, ast.expr]) -> int | Size:
    """An extent in which names stand for dims."""

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return meant[node.id]

    size = size_of(Renamed().visit(copy.deepcopy(tree)))
    return size if isinstance(size, (int, Size)) else Size(ast.unparse(tree))


def _seen(function: ast.FunctionDef) -> Iterator[_Seen]:
    """The places of a function in which a shape is taken apart."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                yield from _unpacked([t.id if isinstance(t, ast.Name) else "_" for t in targets], value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                place = _one_axis(value)
                if place is not None:
                    yield _Seen(place[0], axis=place[1], name=name, rank=_least_rank(place[1]))
            case ast.Compare(
                left=left, comparators=[ast.Constant(value=int() as rank)], ops=[ast.Eq() | ast.NotEq()]
            ):
                text = ast.unparse(left)
                for ending in (".ndim", ".dim()"):
                    if text.endswith(ending):
                        yield _Seen(text.removesuffix(ending), rank=rank)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                for side, other in ((left, right), (right, left)):
                    whole = _shape_of(side)
                    if whole is not None and isinstance(other, ast.Tuple | ast.List):
                        # What each extent equals is a condition of the host code; how many there are is told here.
                        yield _Seen(whole, rank=len(other.elts))
                    elif whole is not None and (like := _shape_of(other)) is not None:
                        yield _Seen(whole, like=like)
            case ast.Subscript() | ast.Call():
                place = _one_axis(node, strides=True)
                if place is not None:
                    yield _Seen(place[0], rank=_least_rank(place[1]))
                elif isinstance(node, ast.Call):
                    yield from _turned(node)


_TURNS = frozenset({"transpose", "swapaxes", "movedim", "permute"})


def _turned(node: ast.Call) -> Iterator[_Seen]:
    """A tensor whose axes change places has at least those axes; `rearrange(x, "b t d -> …")` names them all."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=places) if attr in _TURNS:
            if len(places) == 1 and isinstance(places[0], (ast.Tuple, ast.List)):
                places = places[0].elts
            axes: list[int] = []
            with suppress(ValueError):
                axes = [a for a in map(ast.literal_eval, places) if type(a) is int]
            if axes and len(axes) == len(places):
                yield _Seen(name, rank=max(len(axes), *map(_least_rank, axes)))
        case ast.Call(func=func, args=[ast.Name(id=name), ast.Constant(value=str() as pattern), *_]) if (
            ast.unparse(func).endswith(("rearrange", "repeat", "reduce"))
        ):
            named = pattern.partition("->")[0].split()
            if named and all(part.isidentifier() for part in named):
                yield _Seen(name, axes=tuple(named))


def _least_rank(axis: int) -> int:
    return axis + 1 if axis >= 0 else -axis


def _unpacked(names: list[str], value: ast.expr) -> Iterator[_Seen]:
    whole = _shape_of(value)
    if whole is not None:
        yield _Seen(whole, axes=tuple(names))
        return
    parts = value.elts if isinstance(value, ast.Tuple) else []
    at, beside = 0, tuple[str, ...]()
    for part in parts:
        if isinstance(part, ast.Starred):
            wide = len(names) - len(parts) + 1
            tensor = _shape_of(part.value)
            if tensor is not None:
                beside = tuple(names[at : at + wide])
                yield _Seen(tensor, axes=beside)
            at += wide
            continue
        place = _one_axis(part)
        if place is not None and at < len(names) and place[1] == -1 and beside:
            # `B, T, D, V = *k.shape, v.shape[-1]`: what is taken apart together is alike but for what is asked for.
            yield _Seen(place[0], axes=(*beside[:-1], names[at]))
        elif place is not None and at < len(names):
            yield _Seen(place[0], axis=place[1], name=names[at], rank=_least_rank(place[1]))
        at += 1


def _shape_of(node: ast.expr) -> str | None:
    """`x` of `x.shape` and `x.size()`."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[]):
            return name
    return None


def _one_axis(node: ast.expr, strides: bool = False) -> tuple[str, int] | None:
    """`x` and -1 of `x.shape[-1]` and `x.size(-1)`; with `strides`, of `x.stride(-1)` too."""
    match node:
        case ast.Subscript(value=inner, slice=index):
            name = _shape_of(inner)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=asked), args=[index]):
            name = of if asked == "size" or (strides and asked == "stride") else None
        case _:
            return None
    axis = None
    with suppress(ValueError):
        axis = ast.literal_eval(index)
    return (name, axis) if name is not None and type(axis) is int else None
