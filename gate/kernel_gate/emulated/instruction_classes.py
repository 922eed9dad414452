"""Which kind of work a PTX instruction is: the unit that it asks for, as far as its opcode says."""

from __future__ import annotations

from functools import cache

_BY_OPCODE = {
    "tensor": ("mma", "wgmma", "wmma"),
    "load_store": (
        "ld", "ldu", "st", "cp", "ldmatrix", "stmatrix", "prefetch", "prefetchu", "tensormap",
    ),
    "atomic": ("atom", "red"),
    "barrier": ("bar", "barrier", "mbarrier", "membar", "fence"),
    "control": ("bra", "brx", "ret", "exit", "call", "trap", "brkpt", "nanosleep"),
    "special": ("sin", "cos", "ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh"),
    "warp": ("shfl", "vote", "match", "activemask", "redux", "elect", "movmatrix"),
    "conversion": ("cvt",),
    "move": ("mov", "cvta", "isspacep"),
}  # fmt: skip
_CLASS = {opcode: name for name, opcodes in _BY_OPCODE.items() for opcode in opcodes}
_FLOATS = {
    "f64": "fp64", "f32": "fp32", "f16": "fp16", "f16x2": "fp16", "bf16": "fp16", "bf16x2": "fp16", "f32x2": "fp32",
}  # fmt: skip


@cache
def instruction_class(opcode: str) -> str:
    """`tensor`, `load_store`, `atomic`, `barrier`, `control`, `special` (functions such as `ex2`), `warp` (shuffles and
    votes), `conversion`, `move`; arithmetic, comparisons and selections by type: `fp64`, `fp32`, `fp16`, `integer`.
    """
    parts = opcode.split(".")
    if parts[0] == "wmma" and parts[1] != "mma":
        return "load_store"
    if parts[:2] == ["bar", "warp"]:
        return "warp"
    if parts[0] in _CLASS:
        return _CLASS[parts[0]]
    return next((_FLOATS[part] for part in reversed(parts) if part in _FLOATS), "integer")
