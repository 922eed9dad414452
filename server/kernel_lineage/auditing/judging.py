"""One submission against its reference: the same inputs through both, kernels on the emulated device, no torch.

`Model.forward` runs in float64, `ModelNew.forward` as it is written, each contained in a process of its own with
stand-ins for torch and Triton. Kernels are compiled in the gate's sandbox and run with all detectors.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernel_gate.dtypes import DTYPES
from kernel_gate.processes.closing import Closing
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.standing import Standing
from kernel_lineage.auditing.child import MAKERS
from kernel_lineage.auditing.contained import ContainedModule
from kernel_lineage.auditing.emulation import Emulation, KernelFault
from kernel_lineage.auditing.host_functions import call_host_function
from kernel_lineage.auditing.signs import Sign, signs_of
from kernel_lineage.auditing.submissions import Submission
from kernel_lineage.auditing.tensors import NotEvaluableError, Tensor
from kernel_lineage.auditing.torch_values import MOST_ELEMENTS, TooLargeError, Torch
from kernel_lineage.workloads.triton_module import kernel_module

TOLERANCE = {"float64": 1e-4, "float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}
"""Absolute and relative, as KernelBench's own check allows them (its `get_tolerance_for_precision`)."""
SEEDS = (91, 92)
_LAUNCHES = 5
"""So many launches' time a submission may take in all."""
_MOST_AGAIN = 1 << 21
"""The most elements of one tensor where a submission is run again nearer to its own sizes."""
_SMALLEST = 16
_HALVINGS = 14
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
    """Judge one submission; `seconds` bound each of its launches, and five times as many all of it."""
    started = time.monotonic()
    deadline = started + _LAUNCHES * seconds
    verdict = _attempt(submission, seconds, deadline, _Scale(MOST_ELEMENTS))
    # Code that names its sizes may be right at them alone, or take another path at smaller ones.
    named = frozenset(_named_sizes(submission.text, verdict.sizes))
    for scale in (_Scale(_MOST_AGAIN, named), _Scale(_MOST_AGAIN)) if named else ():
        if verdict.standing is Standing.RIGHT or deadline - time.monotonic() < seconds:
            break
        again = _attempt(submission, seconds, deadline, scale)
        if again.standing is not Standing.NOT_JUDGED:
            verdict = again
        if again.standing is Standing.REJECTED:
            break
    signs = signs_of(submission.text) if submission.module else ()
    return replace(verdict, signs=signs, seconds=round(time.monotonic() - started, 1))


@dataclass(frozen=True, slots=True)
class _Scale:
    """At which sizes a submission is run."""

    most: int
    """The most elements of one tensor."""
    kept: frozenset[str] = frozenset()
    """Sizes that are not made smaller."""

    def smaller(self, name: str, size: int, halvings: int) -> int:
        """A size after so many halvings."""
        return size if name in self.kept else max(min(size, _SMALLEST), size >> halvings)

    def literals(self, text: str, halvings: int) -> dict[int, int]:
        """The sizes that stand as numbers where inputs are made, and what is taken for them."""
        functions = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef) and f.name in MAKERS]
        numbers = {n.value for f in functions for n in ast.walk(f) if isinstance(n, ast.Constant)}
        whole = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and n > _SMALLEST]
        return {n: self.smaller(str(n), n, halvings) for n in whole}


def _attempt(submission: Submission, seconds: float, deadline: float, scale: _Scale) -> Audited:
    """The verdict at one scale, until `deadline`; `seconds` bound each launch."""
    emulation = Emulation(seconds)
    sizes: dict[str, tuple[int, int]] = {}
    try:
        reason = _agreement(submission, emulation, deadline - time.monotonic(), sizes, scale)
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
    smaller = {name: pair for name, pair in sizes.items() if pair[0] != pair[1]}
    kernels = tuple(dict.fromkeys(emulation.launched))
    return Audited(submission, standing, " ".join(reason.split()), kernels, smaller)


def _agreement(
    submission: Submission,
    emulation: Emulation,
    seconds: float,
    sizes: dict[str, tuple[int, int]],
    scale: _Scale,
) -> str:
    """Both on the same inputs; what was compared. Raises `_WrongError`, `KernelFault` and `NotEvaluableError`.

    `sizes` takes what the module has and what was run: as large as `scale` allows.
    """
    if submission.problem:
        raise NotEvaluableError(submission.problem)
    if not submission.module:
        raise NotEvaluableError(
            "a file of kernels without ModelNew: `klineage workload init` and `gate` judge it"
        )
    if submission.reference is None:
        raise NotEvaluableError("no Model to compare with: name its file with --reference")
    compared, until = 0, time.monotonic() + seconds
    for case in submission.cases or ("",):
        asked = replace(submission, reference=submission.reference + case)
        compared += _smaller_until_it_fits(asked, emulation, until - time.monotonic(), sizes, scale)
    of = f" of each of {len(submission.cases)} tests" if submission.cases else ""
    return f"{compared} elements agree on {len(SEEDS)} inputs{of}"


def _smaller_until_it_fits(
    submission: Submission,
    emulation: Emulation,
    seconds: float,
    sizes: dict[str, tuple[int, int]],
    scale: _Scale,
) -> int:
    """Run both at the largest sizes that the emulated device takes; how many elements agree. Raises as above."""
    last: TooLargeError | None = None
    with _Modules(submission, emulation, seconds, scale) as modules:
        for halvings in range(_HALVINGS):
            try:
                sizes |= modules.build(halvings)
                return _compared(modules)
            except TooLargeError as error:
                last = error
    raise NotEvaluableError(f"no size is small enough for the emulated device: {last}")


def _compared(modules: _Modules) -> int:
    """Run both on each seed's inputs; how many elements agree."""
    compared = 0
    for seed in SEEDS:
        inputs, want, got, after = modules.run(seed)
        for number, (expected, actual) in enumerate(zip(want, got, strict=True)):
            _compare(expected, actual, f"output {number}" if len(want) > 1 else "the output", seed)
            compared += expected.values.size
        for number, (before, now) in enumerate(zip(inputs, after, strict=True)):
            if isinstance(before, Tensor) and not _are_same(before, now):
                raise _WrongError(f"it writes to its input {number}, which the reference leaves alone")
    return compared


def _are_same(before: Tensor, now: Any) -> bool:
    return isinstance(now, Tensor) and np.array_equal(before.values, now.values, equal_nan=True)


class _Modules(Closing):
    """Both modules, each in a process of its own, and their models with the same parameters."""

    def __init__(self, submission: Submission, emulation: Emulation, seconds: float, scale: _Scale) -> None:
        self._text, self._reference, self._scale = submission.text, submission.reference or "", scale
        stored = Torch(np.random.default_rng(SEEDS[0]), exact=False, most=scale.most)
        label = submission.name

        def launch(kernel: str, grid: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
            program, names, values = _triton_launch(self._text, kernel, grid, args, kwargs, label)
            emulation.launch(program, names, values)

        def host(source: str, name: str, args: Sequence[Any]) -> Any:
            return call_host_function(source, name, args, stored, emulation, label)

        self._old = ContainedModule(exact=True, seconds=seconds, most=scale.most)
        self._new = ContainedModule(exact=False, seconds=seconds, most=scale.most, launch=launch, host=host)
        has_inputs = "def get_inputs" in self._reference
        self._makes_inputs = self._old if has_inputs else self._new
        self._inputs_text = self._reference if has_inputs else self._text

    def close(self) -> None:
        self._old.close()
        self._new.close()

    def build(self, halvings: int) -> dict[str, tuple[int, int]]:
        """Build both models with their sizes halved so often; what each size was and is.

        Raises `TooLargeError` for a tensor that the scale does not allow.
        """
        whole = _whole_numbers(self._reference) | _whole_numbers(self._text)
        body = ast.parse(self._inputs_text).body
        makers = [f for f in body if isinstance(f, ast.FunctionDef) and f.name in MAKERS]
        names = {n.id for f in makers for n in ast.walk(f) if isinstance(n, ast.Name)} & set(whole)
        taken = {n: self._scale.smaller(n, whole[n], halvings) for n in names}
        literals = self._scale.literals(self._inputs_text, halvings)
        self._makes_inputs.read(self._inputs_text, taken, literals)
        self._makes_inputs.call("get_inputs", SEEDS[0])
        self._build(taken, halvings)
        return {n: (whole[n], v) for n, v in taken.items()} | {str(n): (n, v) for n, v in literals.items()}

    def _build(self, sizes: Mapping[str, int], halvings: int) -> None:
        self._old.read(self._reference, sizes, self._scale.literals(self._reference, halvings))
        # What makes the inputs keeps its smaller numbers.
        literals = self._scale.literals(self._text, halvings) if self._makes_inputs is self._new else {}
        self._new.read(self._text, sizes, literals)
        has_init = "def get_init_inputs" in self._reference
        init = self._old.call("get_init_inputs", SEEDS[0]) if has_init else []
        ours = self._old.build("Model", init, SEEDS[0])
        # What a build with another generator has too was not drawn, and stays as the module makes it.
        again = self._new.build("ModelNew", init, SEEDS[1])
        theirs = self._new.build("ModelNew", init, SEEDS[0])
        self._new.set(_shared_parameters(ours, theirs, again))

    def run(self, seed: int) -> tuple[list[Any], list[Tensor], list[Tensor], list[Any]]:
        """Inputs of a seed, outputs of both, and the inputs as the candidate left them."""
        inputs = self._makes_inputs.call("get_inputs", seed)
        want, _ = self._old.forward(inputs)
        got, after = self._new.forward(inputs)
        if len(want) != len(got):
            raise _WrongError(f"it gives {len(got)} tensors where the reference gives {len(want)}")
        return inputs, want, got, after


def _compare(want: Tensor, got: Tensor, what: str, seed: int) -> None:
    """As torch.allclose does, with NaN and infinities where the reference has them. Raises `_WrongError`."""
    if want.shape != got.shape:
        raise _WrongError(f"{what} has shape {got.shape}, the reference's has {want.shape}")
    kind = DTYPES[got.dtype]
    allowed = TOLERANCE.get(got.dtype, 2 * kind.epsilon) if kind.is_float else 0.0
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
    kernel: str,
    grid: Sequence[Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    label: str,
) -> tuple[Program, list[str], dict[str, object]]:
    """The program of one launch, its arguments' names, and their values."""
    module = ast.parse(text)
    node = next((n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == kernel), None)
    if node is None:
        raise NotEvaluableError(f"{kernel} is not at the top of its module")
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
        raise NotEvaluableError(f"a launch of {kernel} without {missing[0]}")
    passed = [name for name in names if name not in constant and values[name] is not None]
    fixed = {name: repr(values[name]) for name in names if name not in passed}
    if unreadable := [
        n for n, v in fixed.items() if not isinstance(values[n], int | float | str | bool | None)
    ]:
        raise NotEvaluableError(f"the constant {unreadable[0]} of {kernel}")
    source = kernel_module(text, kernel)
    if source is None:
        raise NotEvaluableError(f"{kernel} is not at the top of its module")
    options = {o: int(kwargs[o]) for o in _OPTIONS if o in kwargs}
    extents = tuple(str(int(g)) for g in grid)
    spec = LaunchSpec(extents, constexpr=fixed, **options)  # type: ignore[arg-type]
    program = Program("triton", source, kernel, spec, name=label, arguments=tuple(passed))
    return program, passed, {name: values[name] for name in passed}


def _whole_numbers(text: str) -> dict[str, int]:
    """The sizes that a module names at its top level: whole numbers, and products of them."""
    numbers: dict[str, int] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            value = _number(statement.value)
            if isinstance(target, ast.Name) and value is not None:
                numbers[target.id] = value
    return numbers


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.BinOp(op=ast.Mult()):
            left, right = _number(node.left), _number(node.right)
            return left * right if left is not None and right is not None else None
    return None


def _named_sizes(text: str, sizes: Mapping[str, tuple[int, int]]) -> list[str]:
    """The sizes that were made smaller and that a module's own code names: it may be right at these alone."""
    body = [s for s in ast.parse(text).body if not (isinstance(s, ast.FunctionDef) and s.name in MAKERS)]
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


def _shared_parameters(
    ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor], again: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The reference's parameters for the candidate's, by name, or by shape and order where names differ."""
    shared = {n: ours[n] for n in theirs if n in ours and ours[n].shape == theirs[n].shape}
    left = [ours[n] for n in ours if n not in shared]
    for name, tensor in theirs.items():
        if name in shared or np.array_equal(again[name].values, tensor.values, equal_nan=True):
            continue
        twin = next((t for t in left if t.shape == tensor.shape), None)
        if twin is None:
            raise NotEvaluableError(f"its parameter {name} is none of the reference's")
        shared[name] = twin
        left.remove(twin)
    return shared
