"""One call of a function that takes tensors: extents by names, and how a failed check mends it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
         "bool": 11, "bfloat16": 15, "float8_e5m2": 23, "float8_e4m3fn": 24}  # fmt: skip
"""PyTorch's numbers of element types, by the names that workloads have for them."""
_EXTENTS = (64, 128, *(32 * n for n in range(3, 64) if n != 4))
"""No two of a call are the same, so that a value in a failed check says which extent it is."""
_NUMBER = re.compile(r"-?[0-9]{1,15}")
_DIGITS = re.compile(r"\b[0-9]{1,15}\b")
_MODULO = re.compile(r"%\s*(\w+)\s*(?:==\s*0)?")
_SIZE = re.compile(r"(\w+)\s*\.\s*size\s*\(\s*(-?\d+)\s*\)")
_SIDE = r"\w+(?:\s*\.\s*size\s*\(\s*-?\d+\s*\))?"
_COMPARED = re.compile(rf"({_SIDE})\s*==\s*({_SIDE})")
MOST_RANK = 5
_MOST_LISTED = 64
_MOST_WORDS = 4000
"""Characters of one field of a failed check."""


Asked = Sequence[tuple[str, str, int]]
"""What tensors were asked: name, what, index."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function: its name, and its kind as the program says it."""

    name: str
    kind: str
    """`T` a tensor, `i`, `f`, `b`, `s`, `t` a number, a word, a type; after `o` it may be left out, `v` is a list."""

    @property
    def is_tensor(self) -> bool:
        return self.kind.endswith("T")


@dataclass(frozen=True, slots=True)
class Call:
    """What a function is called with."""

    parameters: tuple[Parameter, ...]
    ranks: Mapping[str, int]
    types: Mapping[str, str]
    numbers: Mapping[str, float] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    same: Mapping[str, str] = field(default_factory=dict)
    """Extent → another one that it equals."""
    fixed: Mapping[str, int] = field(default_factory=dict)
    """Extents that checks ask a number of."""
    multiple: Mapping[str, int] = field(default_factory=dict)
    """What an extent has to be a multiple of."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Extent → the name that the code gives it."""
    inner: Mapping[str, int] = field(default_factory=dict)
    """Tensor → the extent whose elements lie side by side, where that is not the last one.

    Other tensors of the same shape, such as results that are made like it, lie so too.
    """

    def root(self, extent: str) -> str:
        """The extent that stands for all that equal it."""
        while extent in self.same:
            extent = self.same[extent]
        return extent

    def shape(self, tensor: str) -> tuple[str, ...]:
        """The extents of a tensor."""
        return tuple(self.root(f"{tensor}_size_{i}") for i in range(self.ranks.get(tensor, 2)))

    @property
    def is_flat(self) -> bool:
        """Whether no tensor has more than one extent."""
        return self.extents == sum(p.is_tensor and p.name not in self.absent for p in self.parameters)

    @property
    def extents(self) -> int:
        """How many extents all tensors have."""
        return sum(
            self.ranks.get(p.name, 2) for p in self.parameters if p.is_tensor and p.name not in self.absent
        )

    @property
    def sizes(self) -> dict[str, int]:
        """The free extents and whole numbers by their names, and their values."""
        free: dict[str, int] = {}
        place = 0
        # What an extent is does not change when others become equal: what a check compared stays what it was.
        for parameter in self.parameters:
            for index in range(self.ranks.get(parameter.name, 2) if parameter.is_tensor else 0):
                extent = f"{parameter.name}_size_{index}"
                present = parameter.name not in self.absent
                if present and extent not in self.same and extent not in self.fixed:
                    step = self.multiple.get(extent, 1)
                    free[extent] = -(-_EXTENTS[place % len(_EXTENTS)] // step) * step
                place += present
        roots = {
            e
            for p in self.parameters
            if p.is_tensor and p.name not in self.absent
            for e in self.shape(p.name)
        }
        return {
            **free,
            **{
                e: _EXTENTS[(place + i) % len(_EXTENTS)]
                for i, e in enumerate(sorted(roots - free.keys() - self.fixed.keys()))
            },
        }

    def values(self, changed: Mapping[str, int]) -> dict[str, int]:
        """The values of all extents, some of them changed."""
        return {**self.sizes, **self.fixed, **changed}

    def line(self, changed: Mapping[str, int]) -> str:
        """The arguments as a line for the program; `changed` are other sizes for some extents or numbers."""
        values = self.values(changed)
        return ";".join(part for p in self.parameters for part in self._argument(p, p.kind, values, changed))

    def _argument(
        self, parameter: Parameter, kind: str, values: Mapping[str, int], changed: Mapping[str, int]
    ) -> Iterator[str]:
        name = parameter.name
        if kind[:1] == "o":
            if name in self.absent:
                yield "-"
            else:
                yield from self._argument(parameter, kind[1:], values, changed)
        elif kind[:1] == "v":
            count = int(self.numbers.get(f"{name}_count", 4 if kind == "vvT" else 2))
            yield f"[{count}"
            for _ in range(count):
                yield from self._argument(parameter, kind[1:], values, changed)
        elif kind == "T":
            if name in self.absent:
                yield "-"
                return
            shape = ",".join(str(values[e]) for e in self.shape(name))
            alike = next((i for t, i in self.inner.items() if self.shape(t) == self.shape(name)), None)
            inner = "" if alike is None else f":{alike}"
            yield f"T:{TYPES[self.types.get(name, 'float32')]}:{shape}:{name}{inner}"
        elif kind == "t":
            yield str(TYPES["float32"])
        elif kind == "s":
            yield "none"
        elif kind in "ifb":
            default = 0.5 if kind == "f" else 0 if kind == "b" else 1
            number = changed.get(name, self.numbers.get(name, default))
            yield str(int(number) if kind != "f" else number)


@dataclass(frozen=True, slots=True)
class Failed:
    """A check that did not hold."""

    condition: str
    left: str
    op: str
    right: str
    message: str
    asked: Asked
    """What tensors were asked before it: name, what, index."""

    @classmethod
    def of(cls, fields: list[str]) -> Failed:
        """From the fields of a line."""
        condition, left, op, right, message, asked = (f[:_MOST_WORDS] for f in (*fields, *[""] * 6)[:6])
        return cls(condition, left, op, right, message, asked_in(asked))


def asked_in(text: str) -> Asked:
    """What tensors were asked: name, what, index."""
    parts = [word.split(",") for word in text[:_MOST_WORDS].split()]
    return tuple((p[0], p[1], int(p[2])) for p in parts if len(p) == 3 and _NUMBER.fullmatch(p[2]))


def mended(call: Call, failed: Failed) -> Iterator[Call]:
    """Calls that may get past a check, the likeliest first."""
    yield from _ranks(call, failed)
    yield from _types(call, failed)
    yield from _extents(call, failed)
    yield from _numbers(call, failed)
    yield from _left_out(call, failed)


def _last(failed: Failed, *what: str) -> list[str]:
    """The tensors that were asked for something last, once each."""
    return list(dict.fromkeys(t for t, w, _ in reversed(failed.asked) if w in what))


def _ranks(call: Call, failed: Failed) -> Iterator[Call]:
    asked = _last(failed, "dim") if failed.condition != "rank" else _last(failed, "dim", "sizes", "strides")
    both = failed.left, failed.right
    if not re.search(r"dim|rank", failed.condition) and failed.condition != "view":
        asked = []
    for tensor in asked[:2]:
        rank = call.ranks.get(tensor, 2)
        wanted = [
            int(v) for v in both if _NUMBER.fullmatch(v) and int(v) != rank and 0 <= int(v) <= MOST_RANK
        ]
        wanted += [
            int(n)
            for n in re.findall(r"==\s*(\d)\b", failed.condition)
            if 0 < int(n) <= MOST_RANK and int(n) != rank
        ]
        for number in dict.fromkeys(wanted):
            yield replace(call, ranks={**call.ranks, tensor: number})
    if failed.left.count(",") != failed.right.count(",") and (tensors := _last(failed, "sizes")):
        for text in (failed.left, failed.right):
            if text.count(",") < MOST_RANK:
                yield replace(call, ranks={**call.ranks, tensors[0]: text.count(",") + 1 if text else 0})


def _types(call: Call, failed: Failed) -> Iterator[Call]:
    asked = _last(failed, "type")
    wanted = [t for t in (failed.right, failed.left) if t in TYPES]
    if failed.op == "dispatch" or (not wanted and re.search(r"type|\bk[A-Z]", failed.condition)):
        wanted = ["float16", "bfloat16", "float32", "int32", "int64", "uint8", "int8"]
    for tensor in asked[:2]:
        for dtype in wanted:
            if call.types.get(tensor, "float32") != dtype:
                yield replace(call, types={**call.types, tensor: dtype})
                if failed.op == "dispatch":
                    yield replace(
                        call,
                        types={
                            t: dtype if k == call.types.get(tensor, "float32") else k
                            for t, k in call.types.items()
                        },
                    )


def _extents(call: Call, failed: Failed) -> Iterator[Call]:
    pairs = list(zip(failed.left.split(","), failed.right.split(","), strict=False))
    if "," in failed.left and failed.left.count(",") == failed.right.count(","):
        changed = call
        for left, right in pairs:
            changed = next(_equal(changed, left, right), changed)
        if changed != call:
            yield changed
        return
    if "&&" in failed.condition and (joined := _all_equal(call, failed.condition)) != call:
        yield joined
    if (step := _MODULO.search(failed.condition)) is not None:
        for tensor, what, index in reversed(failed.asked):
            if what == "size" and index < call.ranks.get(tensor, 2):
                extent = call.root(f"{tensor}_size_{index}")
                number = int(step[1]) if _NUMBER.fullmatch(step[1]) else 256
                if number and call.multiple.get(extent, 1) % number:
                    yield replace(call, multiple={**call.multiple, extent: number})
                    return
    if failed.op in ("==", "!=", "") or failed.op in ("<=", "<", ">=", ">"):
        yield from _equal(call, failed.left, failed.right)
    # A compound condition shows no values: its numbers are tried for what it names, else for what was asked last.
    by_name = [e for e, n in call.names.items() if re.search(rf"\b{re.escape(n)}\b", failed.condition)]
    last = [
        f"{t}_size_{i}"
        for t, what, i in reversed(failed.asked)
        if what == "size" and i < call.ranks.get(t, 2)
    ]
    for extent in dict.fromkeys(call.root(e) for e in (by_name or last[:2])):
        for number in _allowed(failed.condition):
            if call.fixed.get(extent) != number:
                yield replace(call, fixed={**call.fixed, extent: number})


def _all_equal(call: Call, condition: str) -> Call:
    """The call in which extents that a compound condition compares are equal: it does not show their values."""
    for left, right in _COMPARED.findall(condition):
        one, other = (_extent_written(call, text) for text in (left, right))
        values = call.values({})
        if one in values and other in values and one != other:
            call = next(_equal(call, str(values[one]), str(values[other])), call)
    return call


def _extent_written(call: Call, text: str) -> str:
    """The extent that a piece of a condition names: by a name of the code, or as `x.size(1)`; "" for another."""
    size = _SIZE.fullmatch(text)
    if size is not None:
        rank = call.ranks.get(size[1], 2)
        return call.root(f"{size[1]}_size_{int(size[2]) % rank}") if rank else ""
    return next((call.root(e) for e, name in call.names.items() if name == text), "")


def _allowed(condition: str) -> list[int]:
    """Numbers that a condition asks for, the largest bounds first."""
    found = re.findall(r"(==|<=|<|>=|>)\s*([0-9]{1,15})\b", condition)
    order = {"==": 0, "<=": 1, "<": 2, ">=": 3, ">": 4}
    shift = {"<": -1, ">": 1}
    numbers = [(order[op], int(n) + shift.get(op, 0)) for op, n in found]
    return list(dict.fromkeys(n for _, n in sorted(numbers) if n > 0))


def _equal(call: Call, left: str, right: str) -> Iterator[Call]:
    """A call in which two values that were compared are the same."""
    if not (_NUMBER.fullmatch(left) and _NUMBER.fullmatch(right)) or left == right:
        return
    values = call.values({})
    by_value = {v: n for n, v in values.items() if n not in call.same}
    one, other = by_value.get(int(left)), by_value.get(int(right))
    if one is not None and other is not None:
        order = list(values)
        stays, goes = (one, other) if order.index(one) < order.index(other) else (other, one)
        fixed = {n: v for n, v in call.fixed.items() if n != goes}
        if goes in call.fixed and stays not in call.fixed:
            fixed[stays] = call.fixed[goes]
        yield replace(call, same={**call.same, goes: stays}, fixed=fixed)
        return
    for extent, wanted in ((one, int(right)), (other, int(left))):
        if extent is not None and 0 < wanted < 1 << 20:
            yield replace(call, fixed={**call.fixed, extent: wanted})


def _numbers(call: Call, failed: Failed) -> Iterator[Call]:
    """Numbers among the parameters that the condition or its message names."""
    said = f"{failed.condition} {failed.message}"
    for parameter in call.parameters:
        if parameter.kind not in ("i", "b", "oi") or not re.search(rf"\b{re.escape(parameter.name)}\b", said):
            continue
        values = [
            int(v)
            for v in (failed.right, failed.left, *_DIGITS.findall(failed.condition))
            if _NUMBER.fullmatch(v)
        ]
        for number in dict.fromkeys((*values, 0, 2, 64)):
            if call.numbers.get(parameter.name, 1) != number and abs(number) < 1 << 20:
                yield replace(call, numbers={**call.numbers, parameter.name: number})
    for parameter in call.parameters:
        if (
            parameter.kind[:1] == "v"
            and parameter.name in said
            and _NUMBER.fullmatch(failed.left)
            and _NUMBER.fullmatch(failed.right)
        ):
            for value in map(int, (failed.right, failed.left)):
                if 0 <= value <= _MOST_LISTED:
                    yield replace(call, numbers={**call.numbers, f"{parameter.name}_count": value})


def _left_out(call: Call, failed: Failed) -> Iterator[Call]:
    """Optional arguments given, or not."""
    for parameter in call.parameters:
        if parameter.kind[:1] == "o" and (parameter.name in failed.condition or not failed.condition):
            yield replace(call, absent=call.absent ^ {parameter.name})
