"""Arrays of the host that a function copies to the device, or results to, with as many bytes as it copies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import HostCode, HostParameter, words_in
from kernel_lineage.workloads.following.largest_launch import Every
from kernel_lineage.workloads.following.launches import Launched
from kernel_lineage.workloads.following.library import bare_pointer, buffer_at, library_call
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.types import FLOATS, INTEGERS
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Buffer, Number, Opaque, Pointer, Value

COPIES = frozenset({"cudaMemcpy", "cudaMemcpyAsync", "hipMemcpy", "hipMemcpyAsync"})
"""Functions that copy so many bytes from their second argument to their first one."""
MANAGED = frozenset({"cudaMallocManaged", "hipMallocManaged"})
"""Functions that make memory which the host and the device share."""
_KEEPS = re.compile(r"^(?:\w+\s*\*[^=(]*;|[\w\s:]*\(?\s*cudaFree\w*\s*\([^;]*;)$")
"""Statements that neither set nor read an array: its declaration, and its end."""
_TIMERS = frozenset({"cudaEventElapsedTime", "hipEventElapsedTime"})
_TESTS = frozenset({"parenthesized_expression", "condition_clause"})
_SIDES = {"HostToDevice": (1, 0), "DeviceToHost": (0, 1)}
"""Direction of a copy → which of its arguments is of the host, and which is of the device."""
_ARRAY = re.compile(
    r"(?:\([\w\s:]+\*+\s*\))?\s*(?:(?P<whole>\w+)|&\s*(?P<first>\w+)\s*\[\s*0\s*\]|(?P<vector>\w+)\s*\.\s*data\s*\(\s*\))"
)
DEVICE = re.compile(
    r"<<<|\b(?:cuda|hip)(?!Get\w*Error|PeekAtLastError|Success|Error_t|Event|DeviceProp|GetDevice|SetDevice\b"
    r"|DeviceSynchronize|DeviceReset|Free|Stream)[A-Z]\w*|\bcu[A-Z]\w*"
    r"|\b(?:thrust|cub)\s*::|\b(?:cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nppi|hipblas|hiprand)\w+"
)
"""What stands in code that does something on the device."""
_BLOCKS = frozenset({"for_statement", "for_range_loop", "while_statement", "do_statement", "if_statement",
                     "else_clause", "compound_statement"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class HostCopy:
    """A copy between an array of the host and memory of the device."""

    array: str
    """As the function calls it."""
    buffer: Buffer
    """As many elements as are copied, of the device's type."""
    is_result: bool | None
    """Whether it is copied from the device; None for memory that the host and the device share."""


def host_array(written: str) -> str:
    """The array to whose first element an argument points: `out` of `out.data()`, `&out[0]` and `out`; "" for another
    argument.
    """
    match = _ARRAY.fullmatch(written.strip())
    return next(filter(None, match.groups()), "") if match is not None else ""


def host_copies(unit: Unit, launch: Launched, sizes: Sizes, leading: frozenset[str]) -> list[HostCopy]:
    """The copies of a host function, reached by `launch`, in the order of its statements; `leading` are the names by
    which it launches kernels.

    Dims that only they name are added to `sizes`.
    """
    function = launch.frames[-1].function
    own = replace(sizes, dims={**sizes.dims}, promises={}, said=[], going=set())
    for is_counted in (True, False):
        follower = _Copying(unit, own, function.name, leading | unit.leading_to(function.name), is_counted)
        follower.follow(launch.frames[0].function)
        if follower.copies:
            break
    for name in own.dims.keys() - sizes.dims.keys():
        sizes.dims[name] = own.dims[name]
        sizes.chosen |= {name: None} if name in own.chosen else {}
    return follower.copies


class _Copying(Every):
    """Follows a function past the first call of another one, whose copies it keeps."""

    def __init__(
        self, unit: Unit, sizes: Sizes, kernel: str, leading: frozenset[str], is_counted: bool
    ) -> None:
        super().__init__(unit, sizes, kernel, leading)
        self.copies: list[HostCopy] = []
        self._is_counted = is_counted

    def _of_program(self, parameter: HostParameter) -> Value | None:
        """Where its words are not counted, a program is run with as many as it asks for."""
        return super()._of_program(parameter) if self._is_counted else Opaque(f"`{parameter.name}`")

    def launched_by_function(self, name: str, args: list[Value], node: Node) -> bool:
        is_own = self.frames[-1].function.name == self.kernel
        written = [text_of(n) for n in arguments_of(node.child_by_field_name("arguments"))]
        if name in COPIES and len(args) > 3 and is_own:
            self._note(args, written)
        if name in MANAGED and len(args) > 1 and is_own:
            library_call(name, args, self.sizes)
            self._note_managed(args[0], written[0])
            return True
        return super().launched_by_function(name, args, node)

    def _note_managed(self, place: Value, written: str) -> None:
        """Keep memory that the host and the device share, which the host sets or reads."""
        buffer, function = buffer_at(place), self.frames[-1].function
        if buffer is not None and buffer.size is not None and len(self.works) <= 1:
            name = bare_pointer(written)
            if any(
                not _KEEPS.search(text) for text in statements_about(function, frozenset({name}), self.unit)
            ):
                self.copies.append(HostCopy(name, buffer, None))

    def _note(self, args: list[Value], written: list[str]) -> None:
        host, device = next((s for way, s in _SIDES.items() if written[3].endswith(way)), (0, 0))
        array, size, memory = host_array(written[host]), args[2], args[device]
        if not array or host == device or not isinstance(size, Number) or len(self.works) > 1:
            return
        there = buffer_at(memory)
        kind = (memory.dtype if isinstance(memory, Pointer) else "") or (
            there.dtype if there is not None else ""
        )
        held = buffer_at(args[host])
        buffer = Buffer(array, size, dtype=kind)
        if held is not None and not device:
            buffer.cleared, buffer.below = held.cleared, held.below
        self.copies.append(HostCopy(array, buffer, device == 1))


def host_numbers(function: HostCode) -> frozenset[str]:
    """The parameters by which a function tells its caller one number that the host has, such as the time that it took:
    it only sets or reads what they point to, and asks whether there are any.
    """
    names = {p.name for p in function.parameters if p.stars == 1 and p.type in (*INTEGERS, *FLOATS)}
    nodes = [n for n in inside(function.body) if n.type == "identifier" and text_of(n) in names]
    others = {text_of(n) for n in nodes if not _is_number(n)}
    return frozenset({*map(text_of, nodes)} - others)


def _is_number(node: Node) -> bool:
    """Whether a pointer stands where the number is meant, or where it is asked whether there is one."""
    above = node.parent
    if above is None or above.type in _TESTS:
        return True
    if above.type == "argument_list" and above.parent is not None:
        return text_of(above.parent.child_by_field_name("function")) in _TIMERS
    if above.type == "binary_expression":
        return text_of(above.child_by_field_name("operator")) in ("&&", "||", "==", "!=")
    return above.type in ("pointer_expression", "unary_expression") and text_of(above)[:1] in "*!"


def statements_about(function: HostCode, names: frozenset[str], unit: Unit) -> list[str]:
    """What a function does with arrays and sizes of its own, but for copies and launches, as text: its statements that
    name them, and the functions of the unit that these call.
    """
    texts: list[str] = []
    called: set[str] = set()
    for node in _statements(function.body):
        words = words_in(node)
        if words & names:
            texts.append(" ".join(text_of(node).split()))
            called |= words & unit.functions.keys()

    def inner(name: str) -> Iterator[str]:
        yield from (
            w for f in unit.functions.get(name, ()) if f.of_host for w in f.words & unit.functions.keys()
        )

    for name in sorted(reachable(called, inner)):
        texts += (" ".join(text_of(f.node).split()) for f in unit.functions[name] if f.of_host)
    return texts


def _statements(node: Node) -> Iterator[Node]:
    """The statements of a piece of code that do nothing on the device; of loops and branches that do, the parts."""
    for child in node.named_children:
        if not DEVICE.search(text_of(child)):
            yield child
        elif child.type in _BLOCKS or any(n.type in _BLOCKS for n in inside(child)):
            yield from _statements(child)
