"""One submission against its reference: the same inputs through both, kernels on the emulated device, no torch.

`Model.forward` is worked out in float64, `ModelNew.forward` as it is written, each of its kernels run with all
detectors. Nothing of the module is executed as Python; Triton kernels are compiled in the gate's sandbox.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kernel_gate.dtypes import DTYPES
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.standing import Standing
from kernel_lineage.auditing.emulation import Emulation, KernelFault
from kernel_lineage.auditing.host_functions import call_host_function
from kernel_lineage.auditing.module_values import Extension, Instance, JitKernel
from kernel_lineage.auditing.modules import ModuleText
from kernel_lineage.auditing.signs import Sign, signs_of
from kernel_lineage.auditing.submissions import Submission
from kernel_lineage.auditing.tensors import NotEvaluableError, Tensor
from kernel_lineage.auditing.torch_values import Layer, TooLargeError, Torch
from kernel_lineage.workloads.triton_module import kernel_module

TOLERANCE = {"float64": 1e-4, "float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}
"""Absolute and relative, as KernelBench's own check allows them (its `get_tolerance_for_precision`)."""
SEEDS = (91, 92)
_SMALLEST = 16
_HALVINGS = 14
_MAKERS = ("get_inputs", "get_init_inputs")
_OPTIONS = ("num_warps", "num_stages")


@dataclass(frozen=True, slots=True)
class Audited:
    """What is known of one submission."""

    submission: Submission
    standing: Standing
    reason: str
    launched: tuple[str, ...] = ()
    """The kernels that its forward launched, each once."""
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Size → what the module has, and what was run where that was too large."""
    signs: tuple[Sign, ...] = ()
    seconds: float = 0.0


class _WrongError(Exception):
    """The submission is wrong; the message says where."""


def audit(submission: Submission, seconds: float = 60.0) -> Audited:
    """Judge one submission; `seconds` bound each of its launches."""
    started = time.monotonic()
    emulation = Emulation(seconds)
    sizes: dict[str, tuple[int, int]] = {}
    try:
        reason = _agreement(submission, emulation, sizes)
        standing = Standing.RIGHT if emulation.launched else Standing.UNDECIDED
        if not emulation.launched:
            reason = f"{reason}, but it launched no kernel: whatever computed it is a library's"
    except (_WrongError, KernelFault) as error:
        standing, reason = Standing.REJECTED, str(error)
        if named := _named_sizes(submission.text, sizes):
            standing = Standing.UNDECIDED
            reason = (
                f"wrong at smaller sizes than its own, which its code names ({', '.join(named)}): {reason}"
            )
    except NotEvaluableError as error:
        standing, reason = Standing.NOT_JUDGED, str(error)
    return Audited(
        submission,
        standing,
        " ".join(reason.split()),
        tuple(dict.fromkeys(emulation.launched)),
        {name: pair for name, pair in sizes.items() if pair[0] != pair[1]},
        signs_of(submission.text) if submission.module else (),
        round(time.monotonic() - started, 1),
    )


def _agreement(submission: Submission, emulation: Emulation, sizes: dict[str, tuple[int, int]]) -> str:
    """Both on the same inputs; what was compared. Raises `_WrongError`, `KernelFault` and `NotEvaluableError`."""
    if submission.problem:
        raise NotEvaluableError(submission.problem)
    if not submission.module:
        raise NotEvaluableError(
            "a file of kernels without ModelNew: `klineage workload init` and `gate` judge it"
        )
    if submission.reference is None:
        raise NotEvaluableError("no Model to compare with: name its file with --reference")
    whole = _whole_numbers(submission.reference) | _whole_numbers(submission.text)
    inputs_of = submission.reference if "def get_inputs" in submission.reference else submission.text
    inputs, taken, halvings = _fitting(inputs_of, whole)
    sizes |= {name: (whole[name], value) for name, value in taken.items()}
    sizes |= {str(number): (number, small) for number, small in _literals(inputs_of, halvings).items()}
    compared = 0
    modules = _Modules(submission, taken, halvings, emulation)
    for seed in SEEDS:
        given = inputs(seed)
        want, got, after = modules.run(given)
        for number, (expected, actual) in enumerate(zip(want, got, strict=True)):
            _compare(expected, actual, f"output {number}" if len(want) > 1 else "the output", seed)
            compared += expected.values.size
        for number, (before, now) in enumerate(zip(given, after, strict=True)):
            if isinstance(before, Tensor) and not np.array_equal(before.values, now.values, equal_nan=True):
                raise _WrongError(f"it writes to its input {number}, which the reference leaves alone")
    return f"{compared} elements agree on {len(SEEDS)} inputs"


class _Modules:
    """Both models, built with the same parameters."""

    def __init__(
        self, submission: Submission, sizes: Mapping[str, int], halvings: int, emulation: Emulation
    ) -> None:
        self._exact, self._stored = (Torch(np.random.default_rng(SEEDS[0]), exact=e) for e in (True, False))
        text = submission.text

        def launch(
            kernel: JitKernel, grid: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]
        ) -> None:
            program, names, values = _triton_launch(text, kernel, grid, args, kwargs, submission.name)
            emulation.launch(program, names, values)

        def host(extension: Extension, name: str, args: Sequence[Any]) -> Any:
            return call_host_function(extension.source, name, args, self._stored, emulation, submission.name)

        reference = _halved(submission.reference or "", halvings)
        self._old = ModuleText(reference, self._exact, sizes=sizes)
        self._new = ModuleText(text, self._stored, launch, host, sizes)
        has_init = "def get_init_inputs" in reference
        init = self._old.call("get_init_inputs") if has_init else []
        self._exact.rng, self._stored.rng = (np.random.default_rng(SEEDS[0]) for _ in range(2))
        self._model = self._old.build("Model", *init)
        self._candidate = self._new.build("ModelNew", *init)
        # What a second build with another generator has too was not drawn, and stays as the module makes it.
        again = dict(_parameters(self._new.build("ModelNew", *init)))
        _share_parameters(self._model, self._candidate, again)

    def run(self, given: Sequence[Any]) -> tuple[list[Tensor], list[Tensor], list[Any]]:
        """Outputs of both, and the candidate's inputs as it left them."""
        want = _tensors(self._old.forward(self._model, *_copied(given)))
        after = _copied(given)
        got = _tensors(self._new.forward(self._candidate, *after))
        if len(want) != len(got):
            raise _WrongError(f"it gives {len(got)} tensors where the reference gives {len(want)}")
        return want, got, after


def _compare(want: Tensor, got: Tensor, what: str, seed: int) -> None:
    """As torch.allclose does, with NaN and infinities where the reference has them. Raises `_WrongError`."""
    if want.shape != got.shape:
        raise _WrongError(f"{what} has shape {got.shape}, the reference's has {want.shape}")
    allowed = TOLERANCE.get(got.dtype, 0.0) if DTYPES[got.dtype].is_float else 0.0
    with np.errstate(invalid="ignore"):
        near = np.isclose(
            got.values.astype(np.float64),
            want.values.astype(np.float64),
            rtol=allowed,
            atol=allowed,
            equal_nan=True,
        )
    if not near.all():
        at = tuple(int(i) for i in np.argwhere(~near)[0])
        held = got.values[at]
        shown = "NaN (as not written)" if np.isnan(held) else f"{held:.7g}"
        raise _WrongError(
            f"{what}{list(at)} = {shown}, expected {want.values[at]:.7g}; "
            f"{int((~near).sum())} of {near.size} elements differ; seed {seed}"
        )


def _triton_launch(
    text: str,
    kernel: JitKernel,
    grid: Sequence[Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    label: str,
) -> tuple[Program, list[str], dict[str, object]]:
    """The program of one launch, its arguments' names, and their values."""
    module = ast.parse(text)
    node = next(n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == kernel.name)
    parameters = [*node.args.posonlyargs, *node.args.args]
    names = [p.arg for p in parameters]
    constant = {
        p.arg for p in parameters if p.annotation is not None and "constexpr" in ast.unparse(p.annotation)
    }
    values = {**dict(zip(names, args, strict=False)), **{k: v for k, v in kwargs.items() if k in names}}
    defaults = dict(zip(names[len(names) - len(node.args.defaults) :], node.args.defaults, strict=True))
    for name, default in defaults.items():
        if name not in values and isinstance(default, ast.Constant):
            values[name] = default.value
    if missing := [name for name in names if name not in values]:
        raise NotEvaluableError(f"a launch of {kernel.name} without {missing[0]}")
    passed = [name for name in names if name not in constant and values[name] is not None]
    fixed = {name: repr(values[name]) for name in names if name not in passed}
    if unreadable := [
        n for n, v in fixed.items() if not isinstance(values[n], int | float | str | bool | None)
    ]:
        raise NotEvaluableError(f"the constant {unreadable[0]} of {kernel.name}")
    source = kernel_module(text, kernel.name)
    if source is None:
        raise NotEvaluableError(f"{kernel.name} is not at the top of its module")
    options = {o: int(kwargs[o]) for o in _OPTIONS if o in kwargs}
    extents = tuple(str(int(g)) for g in grid)
    spec = LaunchSpec(extents, constexpr=fixed, **options)  # type: ignore[arg-type]
    program = Program("triton", source, kernel.name, spec, name=label, arguments=tuple(passed))
    return program, passed, {name: values[name] for name in passed}


def _whole_numbers(text: str) -> dict[str, int]:
    """The sizes that a module names at its top level: whole numbers, and products of them."""
    found: dict[str, int] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            value = _number(statement.value)
            if isinstance(target, ast.Name) and value is not None:
                found[target.id] = value
    return found


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.BinOp(op=ast.Mult()):
            left, right = _number(node.left), _number(node.right)
            return left * right if left is not None and right is not None else None
    return None


def _fitting(text: str, whole: Mapping[str, int]) -> tuple[Any, dict[str, int], int]:
    """Inputs for a seed, with sizes halved together until the emulated device holds them; sizes; how often halved."""
    makers = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef) and f.name in _MAKERS]
    names = {n.id for f in makers for n in ast.walk(f) if isinstance(n, ast.Name)} & set(whole)

    def inputs(seed: int, halvings: int, taken: Mapping[str, int]) -> list[Any]:
        torch = Torch(np.random.default_rng(seed), exact=False)
        return list(ModuleText(_halved(text, halvings), torch, sizes=taken).call("get_inputs"))

    last: Exception | None = None
    for halvings in range(_HALVINGS):
        taken = {n: _smaller(whole[n], halvings) for n in names}
        try:
            inputs(SEEDS[0], halvings, taken)
        except TooLargeError as error:
            last = error
            continue
        return partial(inputs, halvings=halvings, taken=taken), taken, halvings
    raise NotEvaluableError(f"no size is small enough for the emulated device: {last}")


def _named_sizes(text: str, sizes: Mapping[str, tuple[int, int]]) -> list[str]:
    """The sizes that were made smaller and that a module's own code names: it may be right at these alone."""
    body = [s for s in ast.parse(text).body if not (isinstance(s, ast.FunctionDef) and s.name in _MAKERS)]
    names: set[str] = set()
    numbers: set[int] = set()
    strings = ""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                names.add(node.id)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, int)
                and not isinstance(statement, ast.Assign)
            ):
                numbers.add(node.value)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings += f" {node.value}"
    numbers |= {int(n) for n in re.findall(r"\b\d+\b", strings)}
    return [n for n, (size, run) in sizes.items() if size != run and (n in names or size in numbers)]


def _smaller(size: int, halvings: int) -> int:
    return max(min(size, _SMALLEST), size >> halvings)


def _literals(text: str, halvings: int) -> dict[int, int]:
    """The sizes that stand as numbers where inputs are made, and what is taken for them."""
    functions = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef) and f.name in _MAKERS]
    numbers = {n.value for f in functions for n in ast.walk(f) if isinstance(n, ast.Constant)}
    whole = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and n > _SMALLEST]
    return {n: _smaller(n, halvings) for n in whole}


def _halved(text: str, halvings: int) -> str:
    """The module with these numbers smaller; lines stay where they are."""
    smaller = _literals(text, halvings)
    lines = text.splitlines(keepends=True)
    for function in ast.parse(text).body:
        if isinstance(function, ast.FunctionDef) and function.name in _MAKERS:
            for node in sorted(ast.walk(function), key=lambda n: -getattr(n, "col_offset", 0)):
                if isinstance(node, ast.Constant) and type(node.value) is int and node.value in smaller:
                    line = lines[node.lineno - 1].encode()
                    number = str(smaller[node.value]).encode()
                    lines[node.lineno - 1] = (
                        line[: node.col_offset] + number + line[node.end_col_offset :]
                    ).decode()
    return "".join(lines)


def _share_parameters(model: Instance, candidate: Instance, again: Mapping[str, Tensor]) -> None:
    """Give the candidate the reference's parameters, by name, or by shape and order where names differ."""
    ours, theirs = dict(_parameters(model)), dict(_parameters(candidate))
    by_name = {n for n in theirs if n in ours and ours[n].shape == theirs[n].shape}
    for name in by_name:
        theirs[name].values[...] = ours[name].values
    left = [ours[n] for n in ours if n not in by_name]
    for name, tensor in theirs.items():
        if name in by_name or np.array_equal(again[name].values, tensor.values, equal_nan=True):
            continue
        twin = next((t for t in left if t.shape == tensor.shape), None)
        if twin is None:
            raise NotEvaluableError(f"its parameter {name} is none of the reference's")
        tensor.values[...] = twin.values
        left.remove(twin)


def _parameters(model: Instance) -> Iterator[tuple[str, Tensor]]:
    for name, value in model.values.items():
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, Layer):
            yield from ((f"{name}.{n}", t) for n, t in value.parameters.items() if isinstance(t, Tensor))


def _copied(given: Sequence[Any]) -> list[Any]:
    return [Tensor(v.values.copy(), v.dtype) if isinstance(v, Tensor) else v for v in given]


def _tensors(made: Any) -> list[Tensor]:
    if isinstance(made, Tensor):
        return [made]
    if isinstance(made, list | tuple) and all(isinstance(m, Tensor) for m in made):
        return list(made)
    raise NotEvaluableError(f"forward gives {type(made).__name__}, not tensors")
