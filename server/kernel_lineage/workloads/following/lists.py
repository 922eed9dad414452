"""Lists of host code, and those of tensors that a caller gives: their elements, and how many are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.values import NotFollowed, Number, Value, plain

_LIST = re.compile(
    r"(?:\w+::)*(?:(?:vector|ArrayRef|IListRef|List)<\s*(?P<element>.*Tensor\b.*)>|I?TensorList(?:Ref)?)"
)
MOST_ELEMENTS = 64
"""Elements of a list that is followed, at most."""


class GivenList(list[Value]):
    """A list of a caller: as many elements as the code asks for by their numbers, one at least.

    Each element is a value of its own. `is_counted` says that the code has asked how many there are: no further one
    is made then.
    """

    def __init__(self, element: Callable[[int], Value], count: int) -> None:
        super().__init__(map(element, range(count)))
        self._element = element
        self.is_counted = False

    def reach(self, count: int) -> None:
        """Let the list have so many elements at least. Raises `NotFollowed` where it was counted with fewer."""
        if count > len(self) and (self.is_counted or count > MOST_ELEMENTS):
            raise NotFollowed(f"element {count - 1} of a list that is taken to have {len(self)}")
        self.extend(map(self._element, range(len(self), count)))


def element_listed(kind: str) -> str:
    """The type of the elements of a list with tensors in it; "" for another type."""
    match = _LIST.fullmatch(kind)
    return (match["element"] or "at::Tensor").strip() if match is not None else ""


def elements_asked(name: str, functions: list[HostCode]) -> int:
    """How many elements of a parameter functions ask for by constants, as `inputs[2]` asks for three; one at least."""
    place = re.compile(rf"\b{re.escape(name)}\s*(?:\[\s*(\d+)\s*\]|\.\s*at\(\s*(\d+)\s*\))")
    asked = (int(m[1] or m[2]) + 1 for f in functions for m in place.finditer(text_of(f.body)))
    return min(max(asked, default=1), MOST_ELEMENTS)


def method_of_list(base: list[Value], name: str, args: list[Value]) -> Value:
    """What a method of a list gives. Raises `NotFollowed`."""
    if isinstance(base, GivenList):
        base.is_counted |= name in ("size", "empty", "back")
    if name in ("size", "empty"):
        return plain(len(base) if name == "size" else not base)
    if name in ("push_back", "emplace_back"):
        base.extend(args[:1])
        return plain(0)
    if name == "pop_back" and base:
        return base.pop()
    if name in ("back", "front") and base:
        return base[-1 if name == "back" else 0]
    if name == "at" and base and args and isinstance(args[0], Number):
        if isinstance(base, GivenList):
            base.reach(int(args[0].value) + 1)
        return base[int(args[0].value) % len(base)]
    if name in ("vec", "data", "slice"):
        return list(base)
    raise NotFollowed(f"`{name}()` of a list")
