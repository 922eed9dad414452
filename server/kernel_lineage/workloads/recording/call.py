"""One call of a function that takes tensors: extents by names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kernel_gate.expressions import evaluate, names

TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
         "bool": 11, "bfloat16": 15, "float8_e5m2": 23, "float8_e4m3fn": 24, "uint16": 27, "uint32": 28,
         "uint64": 29}  # fmt: skip
"""PyTorch's numbers of element types, by the names that workloads have for them."""
_EXTENTS = (64, 128, *(32 * n for n in range(3, 64) if n != 4))
"""No two of a call are the same, so that a value in a failed check says which extent it is."""
_ASIDE = 16
"""What is added to one that a check asks for elsewhere."""
MOST_RANK = 5


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
    derived: Mapping[str, str] = field(default_factory=dict)
    """Extent → what it is over other extents: `8 * qweight_size_1`."""
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
        bound = {*self.fixed, *map(self.root, self.derived)}
        # What an extent is does not change when others become equal: what a check compared stays what it was.
        for parameter in self.parameters:
            for index in range(self.ranks.get(parameter.name, 2) if parameter.is_tensor else 0):
                extent = f"{parameter.name}_size_{index}"
                present = parameter.name not in self.absent
                if present and extent not in self.same and extent not in bound:
                    step = self.multiple.get(extent, 1)
                    own = _EXTENTS[place % len(_EXTENTS)]
                    own += _ASIDE if own in self.fixed.values() else 0
                    free[extent] = -(-own // step) * step
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
                for i, e in enumerate(sorted(roots - free.keys() - bound))
            },
        }

    def values(self, changed: Mapping[str, int]) -> dict[str, int]:
        """The values of all extents, some of them changed."""
        values = {**self.sizes, **self.fixed, **changed}
        waiting = {root: text for e, text in self.derived.items() if (root := self.root(e)) not in values}
        for _ in range(len(waiting)):
            for extent, text in waiting.items():
                around = {n: values[self.root(n)] for n in names(text) if self.root(n) in values}
                if extent not in values and around.keys() == names(text):
                    values[extent] = int(evaluate(text, around))
        return {**dict.fromkeys(waiting, 1), **values}

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
