"""Cases of the kernels in `triton_own.py`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from .llmc_case import Arrays, floats, hole, int32, ints, softmax
from .triton_case import TritonCase

_FILE = "triton_own.py"
_ROWS, _COLUMNS = 24, 781
_HALF_TOLERANCE = 2e-3


def elementwise() -> Iterator[TritonCase]:
    """Over flat arrays."""
    n = 5000
    x, y, grid = floats(n), floats(n)[::-1].copy(), (5,)
    flat = {"x": x, "out": hole(n), "n": int32(n)}
    constants = {"BLOCK": 1024}
    yield TritonCase(
        _FILE, "vector_add", {**flat, "y": y}, grid, lambda a: {"out": a["x"] + a["y"]}, constants
    )
    yield TritonCase(
        _FILE, "seeded_dropout", {**flat, "p": np.float32(0.4), "seed": int32(123)}, grid, _dropped, constants
    )
    yield TritonCase(
        _FILE, "binned_sum", {"x": x, "bins": ints(7, n), "out": np.zeros(7, np.float32), "n": int32(n)}, grid,
        lambda a: {"out": np.bincount(a["bins"].astype(int), weights=a["x"], minlength=7)}, constants,
    )  # fmt: skip


def _dropped(a: Arrays) -> Arrays:
    kept = uniform(int(a["seed"]), np.arange(len(a["x"]))) > np.float32(a["p"])
    return {"out": np.where(kept, a["x"] / (1 - a["p"]), 0)}


def uniform(seed: int, counters: np.ndarray) -> np.ndarray:
    """`tl.rand`: Philox-4x32 with ten rounds (Salmon et al., 2011), its first word folded to [0, 1)."""
    low = np.uint64(0xFFFFFFFF)
    words = [counters.astype(np.uint64), *(np.zeros(len(counters), np.uint64) for _ in range(3))]
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        shift = np.uint64(32)
        words = [
            (second >> shift) ^ words[1] ^ np.uint64(keys[0]), second & low,
            (first >> shift) ^ words[3] ^ np.uint64(keys[1]), first & low,
        ]  # fmt: skip
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    signed = words[0].astype(np.uint32).view(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)


def by_row() -> Iterator[TritonCase]:
    """A row to a program."""
    x = floats(_ROWS, _COLUMNS) * 3
    rows = {"x": x, "out": hole(_ROWS, _COLUMNS), "columns": int32(_COLUMNS)}
    whole, grid = {"BLOCK": 1024}, (_ROWS,)
    yield TritonCase(
        _FILE, "fused_softmax", {**rows, "rows": int32(_ROWS)}, (7,), lambda a: {"out": softmax(a["x"])}, whole,
        num_warps=8,
    )  # fmt: skip
    yield TritonCase(
        _FILE, "layer_norm", {**rows, "w": floats(_COLUMNS), "b": floats(_COLUMNS, 1).ravel(), "eps": np.float32(1e-5)},
        grid, _layer_norm, {"BLOCK": 256},
    )  # fmt: skip
    yield TritonCase(_FILE, "running_sum", rows, grid, lambda a: {"out": a["x"].cumsum(1)}, whole)
    single = {"x": x, "out": hole(_ROWS), "columns": int32(_COLUMNS)}
    yield TritonCase(
        _FILE, "log_sum_exp", single, grid,
        lambda a: {"out": np.log(np.exp(a["x"] - a["x"].max(1, keepdims=True)).sum(1)) + a["x"].max(1)}, {"BLOCK": 256},
    )  # fmt: skip
    yield TritonCase(
        _FILE, "row_argmax", {**single, "at": hole(_ROWS)}, grid,
        lambda a: {"out": a["x"].max(1), "at": a["x"].argmax(1)}, whole,
    )  # fmt: skip
    yield TritonCase(
        _FILE, "embedding",
        {"table": floats(100, 300), "tokens": ints(100, 64), "out": hole(64, 300), "columns": int32(300)},
        (64,), lambda a: {"out": a["table"][a["tokens"].astype(int)]}, {"BLOCK": 512},
    )  # fmt: skip
    yield TritonCase(
        _FILE, "sorted_rows", {"x": floats(_ROWS, 256), "out": hole(_ROWS, 256)}, grid,
        lambda a: {"out": np.sort(a["x"], axis=1)}, {"COLUMNS": 256},
    )  # fmt: skip


def _layer_norm(a: Arrays) -> Arrays:
    apart = a["x"] - a["x"].mean(1, keepdims=True)
    return {"out": apart / np.sqrt((apart**2).mean(1, keepdims=True) + a["eps"]) * a["w"] + a["b"]}


def tiles() -> Iterator[TritonCase]:
    """Two-dimensional tiles; products through the tensor cores."""
    yield TritonCase(
        _FILE, "transposed", {"x": floats(100, 70), "out": hole(70, 100), "m": int32(100), "n": int32(70)}, (4, 3),
        lambda a: {"out": a["x"].T}, {"BLOCK": 32},
    )  # fmt: skip
    m, n, k = 100, 90, 150
    tile = {"BM": 32, "BN": 32, "BK": 32}
    halves = {"a": floats(m, k).astype(np.float16), "b": floats(k, n).astype(np.float16)}
    yield TritonCase(
        _FILE, "matmul", {**halves, "out": hole(m, n), "m": int32(m), "n": int32(n), "k": int32(k)}, (4, 3),
        lambda a: {"out": a["a"] @ a["b"]}, tile, tolerance=_HALF_TOLERANCE,
    )  # fmt: skip
    starts, depth = np.array([0, 40, 55, 128], np.int32), 64
    grouped = {"a": floats(128, depth).astype(np.float16), "b": floats(3, depth, n).astype(np.float16)}

    def by_group(a: Arrays) -> Arrays:
        parts = [a["a"][s:e] @ a["b"][g] for g, (s, e) in enumerate(itertools.pairwise(starts))]
        return {"out": np.concatenate(parts)}

    yield TritonCase(
        _FILE, "grouped_matmul",
        {**grouped, "out": hole(128, n), "starts": starts, "n": int32(n), "k": int32(depth)}, (3, 3), by_group, tile,
        tolerance=_HALF_TOLERANCE,
    )  # fmt: skip


FAMILIES = (elementwise, by_row, tiles)
