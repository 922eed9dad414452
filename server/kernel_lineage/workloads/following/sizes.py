"""The sizes that host code is followed with: dims by their names, and what is asked of tensors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kernel_gate.expressions import evaluate_int
from kernel_gate.expressions import names as names_in
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.words import with_meanings
from kernel_lineage.workloads.chosen_sizes import stays_small
from kernel_lineage.workloads.device_size import CHECKED, MULTIPROCESSORS, multiprocessors
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.values import (
    Buffer,
    Number,
    Record,
    Tensor,
    Value,
    called,
    combined,
    dim,
    made,
    plain,
    product,
)

BLOCK_SIZES = frozenset(
    {"block_size", "blocksize", "block_dim", "num_threads", "threads", "threads_per_block"}
)
"""Parameters of launchers by which a caller chooses the block; the workload's block says what it chooses."""
_ASKED = re.compile(
    r"\b(\w+)\s*\.\s*(?:size|stride)\s*\(\s*(-?\d+)\s*\)"
    r"|\b(\w+)\s*\.\s*sizes\s*\(\s*\)\s*\[\s*(\d+)\s*\]"
)
_RANK = re.compile(r"\b(\w+)\s*\.\s*(?:dim|ndimension)\s*\(\s*\)\s*==\s*(\d+)")
_RANK_AT_LEAST = re.compile(r"\b(\w+)\s*\.\s*(?:dim|ndimension)\s*\(\s*\)\s*>=\s*(\d+)")
_CALLED = re.compile(
    r"\b(\w+)\s*=\s*(?:\(\s*[\w:]+\s*\)\s*|static_cast\s*<[^<>]*>\s*\(\s*|[A-Za-z_]\w*\s*\(\s*)?"
    r"(\w+)\s*\.\s*(?:(?:size)\s*\(\s*(-?\d+)\s*\)|sizes\s*\(\s*\)\s*\[\s*(\d+)\s*\]|(numel)\s*\(\s*\))"
)
_WINDOW = re.compile(r"^w$|weight|kernel|filter", re.IGNORECASE)
_IN_CODE = re.compile(r"(\w+) is \d+ in ")
_EDGE = 3
_TRIAL = (96, 64, 48, 80, 112, 40, 56, 72)
"""Sizes while no better ones are known: all differ, none is large."""
_SMALL_TRIAL = 4
_FEWEST_ROUNDS = 3
"""Where there are fewer, the first says as much."""
LEAST_DIM = 2
"""A number below is a flag or a step, not a size."""
USUAL_THREADS = 128
EDGE_OF_THREADS = 16


@dataclass(frozen=True, slots=True)
class Asked:
    """What a function's text asks of the tensors that it is given."""

    ranks: Mapping[str, int]
    names: Mapping[tuple[str, int | str], str]
    """Tensor and index (or `numel`) → the name that the code gives it."""
    at_least: frozenset[str] = frozenset()
    """Tensors that have so many extents as were asked for, and may have more."""


def asked_of_tensors(function: HostCode) -> Asked:
    """What a function asks of its tensors."""
    text = text_of(function.node)
    indices: dict[str, set[int]] = {}
    for match in _ASKED.finditer(text):
        indices.setdefault(match[1] or match[3], set()).add(int(match[2] or match[4]))
    # One that is asked for its first extent only may have more of them.
    ranks = {
        n: max(max(axes) + 1, -min(axes), 2) for n, axes in indices.items() if max(axes) > 0 or min(axes) < 0
    }
    for match in _RANK_AT_LEAST.finditer(text):
        name, least = match[1], int(match[2])
        # Who asks for the first extents and counts all elements does something with the rest.
        has_more = indices.get(name) == {*range(least)} and f"{name}.numel()" in text
        ranks[name] = max(least + has_more, ranks.get(name, 0))
    ranks.update({match[1]: int(match[2]) for match in _RANK.finditer(text)})
    names: dict[tuple[str, int | str], str] = {}
    for match in _CALLED.finditer(text):
        index: int | str = "numel" if match[5] else int(match[3] or match[4])
        if isinstance(index, int) and index < 0:
            index += ranks.get(match[2], 1)
        names.setdefault((match[2], index), match[1])
    return Asked(ranks, names)


def _usual(numbers: tuple[int, ...]) -> int:
    """A usual one of several numbers of threads; 16 where they are edges of square blocks."""
    if EDGE_OF_THREADS in numbers and max(numbers) < USUAL_THREADS:
        return EDGE_OF_THREADS
    return min((n for n in numbers if n >= USUAL_THREADS), default=max(numbers))


def root_of(name: str, same: Mapping[str, str]) -> str:
    """The dim that stands for all that equal it."""
    while name in same:
        name = same[name]
    return name


@dataclass(slots=True)
class Sizes:
    """Dims with the sizes that they are followed with."""

    given: Mapping[str, int]
    """Sizes to take for dims that nothing tells."""
    same: Mapping[str, str]
    """Dim → another one that it equals."""
    asked: Asked
    dims: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, None] = field(default_factory=dict)
    """Those of which no code tells a size."""
    said: list[str] = field(default_factory=list)
    promises: dict[str, Number] = field(default_factory=dict)
    """Conditions over dims on the way to the launch, and whether they hold with these sizes."""
    nameless: set[str] = field(default_factory=set)
    """Dims that have a name made up for them."""
    ranks: dict[str, int] = field(default_factory=dict)
    """Tensor → how many extents it has at least, as they are asked for on the way."""
    equal: dict[str, str] = field(default_factory=dict)
    """Dim → a dim that a check says is the same."""
    threads: Mapping[str, bool] = field(default_factory=dict)
    """Names of numbers of threads, which are no sizes of the data → whether the block is written with it."""
    usual_threads: Mapping[str, int] = field(default_factory=dict)
    """What each of them is taken to be where nothing tells it."""
    wanted_block: int | None = None
    """The number of threads to take where a caller goes through several; None for a usual one."""
    blocks: tuple[int, ...] = ()
    """The numbers of threads that a caller goes through, the one that is taken first."""
    lists: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Dim → the sizes that a caller goes through."""
    copies: dict[str, str] = field(default_factory=dict)
    """Dim that is set to one of such sizes → the dim that it is set to."""
    compiled: Collection[str] = ()
    """The macros and constants of device code that are dims."""
    has_constants: bool = True
    """Whether macros and constants that only the host calculates with are dims."""
    with_literals: bool = False
    """Whether a whole number that is written at a call, or for a field of a structure, is a dim by the name there."""
    with_typed: bool = False
    """Whether a program is run with a word that it asks for, as in `strcmp(argv[1], "bench")`."""
    named: dict[str, float] | None = None
    """Numbers with a fraction that nothing tells, by their names, where they are to be read as those; else None."""
    rounds: Collection[str] | None = ()
    """The variables by which loops number their launches that are dims; None for all of them."""
    in_code: dict[str, int] = field(default_factory=dict)
    """Dim → the size that the code gives it."""
    loops: int = 0
    """The loops around what is followed that lead to the launch."""
    going: set[str] = field(default_factory=set)
    """The variables by which such loops count."""
    of_callers: set[str] = field(default_factory=set)
    """Tensors whose extents a caller gives."""
    ones: set[tuple[str, int]] = field(default_factory=set)
    """Tensor and place of the extents of 1 of such tensors that the code asks for: a test with one channel gives them,
    and they are dims.
    """
    apart: dict[str, str] = field(default_factory=dict)
    """Dim with the name of its function, as another one has its own name → that."""
    extents: set[str] = field(default_factory=set)
    """Dims that a caller's tensors have: none of them is a number of threads."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Name of a number with a fraction that nothing tells → how many such names came before it."""
    copied: dict[str, Record] = field(default_factory=dict)
    """Variable of device code → the structure that is copied to it."""

    chosen_by: Mapping[str, int] = field(default_factory=dict)
    """Parameter by which code chooses → the number to take."""
    told_apart: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Parameter by which code chooses → the numbers that it tells apart, the usual one first."""

    def chooses(self, name: str, numbers: tuple[int, ...]) -> int:
        """What a parameter is by which code chooses between ways that some numbers lead to."""
        self.told_apart[name] = numbers
        return self.chosen_by.get(name, numbers[0])

    def other_choices(self) -> Iterator[dict[str, int]]:
        """The other numbers of such parameters, one parameter after the other."""
        for name, numbers in self.told_apart.items():
            yield from ({name: number} for number in numbers[1:])

    def another(self, name: str, numbers: tuple[float, ...]) -> float:
        """One of some numbers for a name: another one than the names before it have, as long as there are others."""
        place = self.numbers.setdefault(name, len(self.numbers))
        return numbers[place % len(numbers)]

    def say(self, what: str) -> None:
        """Note a conclusion, once."""
        if what not in self.said:
            self.said.append(what)

    def said_of(self, dims: Collection[str]) -> tuple[str, ...]:
        """The conclusions, without the sizes of dims that are not among those that are used."""
        unused = {name for name in self.in_code if name not in dims}
        return tuple(s for s in self.said if (m := _IN_CODE.match(s)) is None or m[1] not in unused)

    def free(self, name: str) -> Number:
        """A dim of which nothing tells a size."""
        name = root_of(name, self.same)
        if not name.isidentifier():
            return self._expression(name)
        if name not in self.dims:
            trial = _SMALL_TRIAL if stays_small(name) else _TRIAL[len(self.dims) % len(_TRIAL)]
            self.dims[name] = self.given.get(name, trial)
            self.chosen[name] = None
        return dim(name, self.dims[name])

    def of_list(self, name: str, numbers: tuple[int, ...], where: str) -> Number:
        """A number that a caller goes through a list for: a number of threads, or a dim."""
        name = root_of(name, self.same)
        usual = self.wanted_block if self.wanted_block in numbers else _usual(numbers)
        if name in self.threads:
            self.blocks = (usual, *sorted({*numbers} - {usual})) if self.threads[name] else self.blocks
            self.say(f"{name} is one of {', '.join(map(str, numbers))} in {where}; {usual} is taken")
            return plain(usual)
        listed = tuple(sorted(set(numbers)))
        if name not in self.dims or self.lists.get(name, listed) != listed:
            # A later call may come with another list.
            self.said = [text for text in self.said if not text.startswith(f"{name} is one of ")]
            self.dims[name] = self.given.get(name, usual)
            self.chosen[name], self.lists[name] = None, listed
            self.say(f"{name} is one of {', '.join(map(str, numbers))} in {where}")
        return dim(name, self.dims[name])

    def again(self, listed: str, name: str, where: str) -> Number:
        """A variable that is set to a number of a list: a dim of its own, so that several are told apart."""
        numbers = self.lists[listed]
        number = self.of_list(name, numbers, where)
        if number.text != listed:
            self.copies[name] = self.copies.get(listed, listed)
        return number

    def _expression(self, text: str) -> Number:
        """What a check says that a dim equals, over the dims that stay."""
        parts = {name: self.free(name) for name in names_in(text)}
        value = evaluate_int(text, {name: part.value for name, part in parts.items()})
        if not parts:
            return plain(value)
        texts = {name: part.text if part.text == name else f"({part.text})" for name, part in parts.items()}
        return made(value, with_meanings(text, texts))

    def forgotten(self, name: str) -> int:
        """Let a dim that the code gives a size be none; the size."""
        size = self.in_code.pop(name)
        del self.dims[name]
        self.said = [text for text in self.said if not text.startswith(f"{name} is {size} in ")]
        return size

    def dim_in_code(self, name: str, size: int, where: str, why: str = "") -> Number:
        """A dim that the code gives a size; with the function's name where another one has the name already.

        A number of threads stays a number. `why` is said behind where it stands.
        """
        if name in self.threads:
            return plain(size)
        other, count = f"{name}_{where}", 2
        while other not in self.given and self.in_code.get(other, size) != size:
            other, count = f"{name}_{where}_{count}", count + 1
        differs = self.dims.get(name, size) != size and name not in self.given
        if differs or (other in self.given and self.in_code.get(name, size) != size):
            self.apart[other] = name
            name = other
        if name not in self.dims:
            self.dims[name], self.in_code[name] = self.given.get(name, size), size
            kept = self.dims[name]
            checks = f"; {kept} keeps its checks" if kept != size else ""
            self.say(f"{name} is {size} in {where}{why}{checks}")
        return dim(name, self.dims[name])

    def of_one(self, name: str, where: str) -> Number:
        """A dim that is 1 in the code, with a name that is made up."""
        root = root_of(name, self.same)
        self.nameless.update({name} if root == name else ())
        return self.dim_in_code(root, 1, where)

    def is_round(self, name: str) -> bool:
        """Whether a variable that numbers the launches of a loop is a dim."""
        return self.rounds is None or name in self.rounds

    def of_round(self, name: str, start: Number, values: Sequence[int], where: str) -> Number:
        """The variable that has these values in the rounds of a loop, from `start` on: a dim in the middle of them, if
        all are as far apart, or powers of two.
        """
        steps = {after - before for before, after in pairwise(values)}
        least = min(values)
        is_power = (
            least > 0
            and least & (least - 1) == 0
            and sorted(values) == [least << i for i in range(len(values))]
        )
        if len(values) < _FEWEST_ROUNDS or (len(steps) > 1 and not is_power):
            return start
        rounds = f", of its rounds from {values[0]} to {values[-1]}"
        number = self.dim_in_code(name, values[len(values) // 2], where, rounds)
        if number.is_constant:
            return number
        self.require(combined(">=" if values[1] > values[0] else "<=", number, start))
        if len(steps) > 1:
            self.require(combined("==", called("next_power_of_2", number), number))
        elif (step := abs(steps.pop())) > 1:
            self.require(combined("==", combined("%", combined("-", number, start), plain(step)), plain(0)))
        return number

    def of_literal(self, value: Value, name: str, where: str) -> Value:
        """A value that is written for a parameter or a field: a dim of its name, where such literals are dims."""
        return self.of_number(value, name, where) if self.with_literals else value

    def of_number(self, value: Value, name: str, where: str) -> Value:
        """A whole number that does not depend on sizes as a dim of a name; another value, and a small one, as it is."""
        if not isinstance(value, Number) or not value.is_constant:
            return value
        if not value.whole or isinstance(value.value, bool) or value.value < LEAST_DIM:
            return value
        return self.dim_in_code(name, int(value.value), where)

    def of_constant(self, name: str, size: int, where: str) -> Number:
        """A macro or constant outside of functions: a dim, unless it is too small for a size."""
        is_dim = self.has_constants and size >= LEAST_DIM
        return self.dim_in_code(name, size, where) if is_dim else plain(size)

    def multiprocessors(self) -> Number:
        """How many multiprocessors the device has: a dim."""
        if MULTIPROCESSORS not in self.dims:
            self.dims[MULTIPROCESSORS] = multiprocessors()
            self.say(f"{MULTIPROCESSORS} is {self.dims[MULTIPROCESSORS]}: it depends on the device")
        return dim(MULTIPROCESSORS, CHECKED)

    def require(self, condition: Number, holds: bool = True) -> None:
        """Note what holds where the launch is reached."""
        if condition.is_constant:
            return
        text = condition.text if holds else f"not ({condition.text})"
        self.promises[text] = condition if holds else plain(not condition.value)

    def tensor(self, name: str) -> Tensor:
        """A tensor that a caller gives, with the rank that the code asks of it."""
        return Tensor(Buffer(name), {}, self.asked.ranks.get(name))

    def extent(self, tensor: Tensor, index: int) -> Number:
        """One extent of a tensor: a dim where nothing tells it."""
        needed = index + 1 if index >= 0 else -index
        if needed > 1:
            name = tensor.buffer.name
            self.ranks[name] = max(needed, self.ranks.get(name, 0))
        if tensor.rank is None and index != 0:
            tensor.rank = index + 1 if index > 0 else max(2, -index)
        place = index + (tensor.rank or 0) if index < 0 else index
        if place not in tensor.sizes:
            if place >= 2 and _WINDOW.search(tensor.buffer.name):
                self.say(
                    f"the windows of {tensor.buffer.name} are taken to be {_EDGE} wide: nothing tells it"
                )
                tensor.sizes[place] = plain(_EDGE)
                return tensor.sizes[place]
            name = f"{tensor.buffer.name}_size_{place}"
            self.nameless.add(name)
            tensor.sizes[place] = self.free(self.asked.names.get((tensor.buffer.name, place), name))
        elif tensor.buffer.name in self.of_callers and tensor.sizes[place].text == "1":
            self.ones.add((tensor.buffer.name, place))
        return tensor.sizes[place]

    def elements(self, tensor: Tensor) -> Number:
        """How many elements a tensor has."""
        if tensor.rank is None and tensor.sizes:
            tensor.rank = 2
        if tensor.rank is None:
            made_up = f"{tensor.buffer.name}_numel"
            name = self.asked.names.get((tensor.buffer.name, "numel"), made_up)
            self.nameless.update({made_up} & {name})
            tensor.rank, tensor.sizes = 1, {0: self.free(name)}
        return product(tuple(self.extent(tensor, i) for i in range(tensor.rank)))
