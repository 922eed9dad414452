"""What functions of the CUDA runtime and of C++'s library do, as far as a launch depends on it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from kernel_gate.expr.syntax import tree_of
from kernel_gate.expressions import FUNCTIONS
from kernel_lineage.workloads.following.literals import DEVICE
from kernel_lineage.workloads.following.names import fetched, stored
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.values import (
    Buffer,
    NotFollowed,
    Number,
    Opaque,
    Place,
    Pointer,
    Record,
    Text,
    Typed,
    Value,
    called,
    made,
    plain,
    times,
)

ALLOCATORS = frozenset(
    {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "cudaMallocHost", "cudaHostAlloc", "cudaMallocFromPoolAsync",
     "hipMalloc"}
)  # fmt: skip
"""Functions that make a buffer, their first argument."""
PITCHED = frozenset({"cudaMallocPitch", "hipMallocPitch"})
"""Those that choose how far apart its rows are, their second argument."""
_PITCHED_ARGUMENTS = 4
_PITCH = 512
"""Bytes that rows are a multiple of: what cudaMallocPitch gives on devices of today."""
_CEIL_DIV = frozenset(
    {"ceildiv", "cdiv", "divup", "divceil", "iceildiv", "roundupdiv", "divideroundup", "ceildivide"}
)
_ROUND_UP = frozenset({"roundup", "alignup", "roundmultiple", "padto", "roundtomultiple"})
_ATTRIBUTES = {"MaxThreadsPerMultiProcessor": "maxThreadsPerMultiProcessor", "MaxThreadsPerBlock": "maxThreadsPerBlock",
               "WarpSize": "warpSize", "MaxSharedMemoryPerBlock": "sharedMemPerBlock",
               "MaxSharedMemoryPerBlockOptin": "sharedMemPerBlockOptin", "ComputeCapabilityMajor": "major",
               "ComputeCapabilityMinor": "minor", "MaxSharedMemoryPerMultiprocessor": "sharedMemPerMultiprocessor",
               "CooperativeLaunch": "cooperativeLaunch"}  # fmt: skip
_COMPARE = frozenset({"strcmp", "strncmp", "strcasecmp", "strncasecmp"})
_THREADS = 256
_MATH: Mapping[str, Callable[[float], float]] = {
    "acos": math.acos,
    "asin": math.asin,
    "atan": math.atan,
    "cbrt": math.cbrt,
    "cos": math.cos,
    "cosh": math.cosh,
    "erf": math.erf,
    "exp": math.exp,
    "exp2": math.exp2,
    "expm1": math.expm1,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log1p": math.log1p,
    "log2": math.log2,
    "sin": math.sin,
    "sinh": math.sinh,
    "tan": math.tan,
    "tanh": math.tanh,
}
"""Functions of one number, which give what C++'s of the same name do; outside of their domain they raise."""


def library_call(name: str, args: list[Value], sizes: Sizes) -> Value:
    """What a function that the unit does not define gives, by its last name. Raises `NotFollowed`."""
    for part in (_memory, _device, _arithmetic, _of_words):
        answer = part(name, args, sizes)
        if answer is not None:
            return answer
    if name.startswith(("cuda", "cu", "hip", "nccl", "C10_CUDA", "AT_CUDA")):
        for value in args:
            note_write(value)
        return plain(0)
    if name in ("move", "forward", "raw_pointer_cast", "ref", "cref") and args:
        return args[0]
    if name in ("make_pair", "make_tuple", "tuple", "pair"):
        return list(args)
    for value in args:
        note_write(value)
        held = fetched(value) if isinstance(value, Place) else None
        if isinstance(value, Place) and isinstance(held, Pointer) and held.buffer is None:
            stored(value, Pointer(Buffer(value.name, dtype=held.dtype), held.dtype))  # no longer null
    raise NotFollowed(f"`{name}()`")


def buffer_at(value: Value) -> Buffer | None:
    """The buffer that a value is, or points to."""
    if isinstance(value, Place):
        inner = fetched(value)
        return buffer_at(inner) if inner is not None else None
    return value if isinstance(value, Buffer) else value.buffer if isinstance(value, Pointer) else None


def note_write(value: Value) -> None:
    """Note that something that is not followed may have written to memory, so that it is no longer all zeros."""
    buffer = buffer_at(value)
    if buffer is not None:
        buffer.cleared = False
        if buffer.below is not None and buffer.below.is_constant and buffer.below.value == 1:
            buffer.below = None


def bare_pointer(written: str) -> str:
    """`&d_out`, `(void**)&d_out` and `d_out` → `d_out`."""
    return re.sub(r"^\(\s*[\w\s]+\*+\s*\)", "", written.strip()).lstrip("&* ").strip()


def clear(record: Record) -> None:
    """Set all fields of a structure to zero."""
    for name, value in record.fields.items():
        if isinstance(value, Record):
            clear(value)
        else:
            record.fields[name] = Pointer(None) if isinstance(value, (Pointer, Buffer)) else plain(0)


def _kept(place: Value, value: Value) -> None:
    if isinstance(place, Place):
        stored(place, value)


def _memory(name: str, args: list[Value], sizes: Sizes) -> Value | None:
    """Functions that allocate, copy or set memory."""
    if name in PITCHED and len(args) >= _PITCHED_ARGUMENTS and all(isinstance(a, Number) for a in args[2:4]):
        width, rows = (a for a in args[2:4] if isinstance(a, Number))
        blocks = Number(-(-width.value // _PITCH), (f"ceil_div({width.text}, {_PITCH})",))
        _kept(args[1], pitch := times(blocks, plain(_PITCH)))
        name, args = "cudaMalloc", [args[0], times(pitch, rows)]
    if name in ALLOCATORS and len(args) >= 2:
        place, size = args[0], args[1]
        label, kind = "", ""
        if isinstance(place, Place):
            before = fetched(place)
            label, kind = place.name, before.dtype if isinstance(before, Pointer) else ""
        nbytes = size if isinstance(size, Number) else None
        untold = size.why if isinstance(size, Opaque) else ""
        made = Buffer(label, nbytes, dtype=kind, untold=untold, within=frozenset(sizes.lists))
        _kept(place, Pointer(made, kind))
        return plain(0)
    if name in ("malloc", "calloc", "aligned_alloc", "_aligned_malloc"):
        numbers = [g for g in args if isinstance(g, Number)]
        total = times(numbers[0], numbers[1]) if name == "calloc" and len(numbers) == 2 else None
        if total is None and numbers and len(numbers) == len(args):
            total = numbers[-1] if name == "aligned_alloc" else numbers[0]
        return Pointer(Buffer("", total, cleared=name == "calloc"))
    if name.startswith(("cudaMemset", "memset", "hipMemset")) and len(args) >= 2:
        buffer = buffer_at(args[0])
        record = fetched(args[0]) if isinstance(args[0], Place) else args[0]
        if isinstance(record, Record):
            clear(record)
        elif buffer is not None:
            buffer.cleared = isinstance(args[1], Number) and args[1].value == 0
            buffer.cleared_bytes = args[2] if len(args) > 2 else None
            buffer.cleared_in = sizes.loops
        return plain(0)
    if name.startswith(("cudaMemcpy", "memcpy", "hipMemcpy")) and len(args) >= 2:
        target, origin = buffer_at(args[0]), buffer_at(args[1])
        if target is not None and origin is not None:
            target.cleared, target.below = origin.cleared, origin.below
            target.cleared_in = sizes.loops
        elif target is not None:
            target.cleared = False
        return plain(0)
    return None


def _device(name: str, args: list[Value], sizes: Sizes) -> Value | None:
    """Functions that ask for properties of the device."""
    if name == "cudaGetDeviceProperties" and args:
        _kept(args[0], Record("cudaDeviceProp"))
    elif name == "cudaDeviceGetAttribute" and len(args) >= 2 and isinstance(args[1], Text):
        asked = args[1].text.removeprefix("cudaDevAttr")
        if asked == "MultiProcessorCount":
            _kept(args[0], sizes.multiprocessors())
        elif asked in _ATTRIBUTES:
            _kept(args[0], plain(DEVICE[_ATTRIBUTES[asked]]))
    elif name in ("cudaGetDevice", "cudaGetDeviceCount") and args:
        _kept(args[0], plain(0 if name == "cudaGetDevice" else 1))
    elif name.startswith("cudaOccupancyMaxActiveBlocks") and args:
        _kept(args[0], plain(1))
        sizes.say("one block is taken to run on a multiprocessor at a time")
    elif name.startswith("cudaOccupancyMaxPotentialBlockSize") and len(args) >= 2:
        _kept(args[0], sizes.multiprocessors())
        _kept(args[1], plain(_THREADS))
        sizes.say(f"a block of {_THREADS} threads is taken, of which the runtime is asked")
    elif name in ("getCurrentDeviceProperties", "getDeviceProperties"):
        return Record("cudaDeviceProp")
    else:
        return None
    return plain(0)


def _rounded_up(number: Number) -> Number:
    """`ceil`; of a quotient of whole numbers `ceil_div`."""
    if number.is_constant:
        return plain(float(math.ceil(number.value)))
    value, tree = math.ceil(number.value), tree_of(number.text)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div):
        sides = (tree.left, tree.right)
        parts = [inner for side in sides for inner in ast.walk(side)]
        if not any(
            isinstance(p, ast.Div) or (isinstance(p, ast.Constant) and type(p.value) is float) for p in parts
        ):
            return made(value, f"ceil_div({', '.join(map(ast.unparse, sides))})")
    return made(value, f"-(-({number.text}) // 1)")


def _of_words(name: str, args: list[Value], _sizes: Sizes) -> Value | None:
    """Functions of strings."""
    if name in ("string", "string_view") and len(args) == 1 and isinstance(args[0], (Text, Typed)):
        return args[0]
    if name in _COMPARE and any(isinstance(a, Typed) for a in args):
        return plain(0)
    return None


def _arithmetic(name: str, args: list[Value], _sizes: Sizes) -> Value | None:
    """Functions of numbers."""
    listed = args[0] if len(args) == 1 and isinstance(args[0], list) and name in ("min", "max") else args
    numbers = [g for g in listed if isinstance(g, Number)]
    if len(numbers) != len(listed) or not numbers:
        return None
    plain_name = name.lower().replace("_", "")
    first = numbers[0]
    if name in ("min", "max", "fmin", "fmax", "fminf", "fmaxf") and (len(numbers) == 2 or listed is not args):
        return called(name[1:4] if name[0] == "f" else name, *numbers)
    if name == "clamp" and len(numbers) == 3:
        least, most = numbers[1:]
        return called("max", called("min", first, most), least)
    if plain_name in _CEIL_DIV and len(numbers) == 2:
        return called("ceil_div", *numbers)
    if plain_name in _ROUND_UP and len(numbers) == 2:
        return times(called("ceil_div", *numbers), numbers[1])
    if ("pow" in plain_name and "2" in plain_name and len(numbers) == 1) or plain_name == "nextpoweroftwo":
        return called("next_power_of_2", first)
    if name.rstrip("fl") == "abs" or name == "fabs":
        return called("abs", first)
    base = name[:-1] if name.endswith("f") and name not in ("f", *_MATH) else name
    if base == "ceil":
        return _rounded_up(first)
    powers = {"sqrt": 0.5, "rsqrt": -0.5}
    if base in powers or (base == "pow" and len(numbers) == 2):
        power = plain(powers[base]) if base in powers else numbers[1]
        if first.value <= 0:
            return None
        value = float(first.value) ** float(power.value)
        return (
            plain(value)
            if first.is_constant and power.is_constant
            else made(value, f"({first.text}) ** ({power.text})")
        )
    if base in _MATH and len(numbers) == 1:
        with suppress(ValueError, OverflowError):  # C++ gives no number, or infinity
            if first.is_constant:
                return plain(_MATH[base](first.value))
            return called(base, first) if base in FUNCTIONS else None
    return None
