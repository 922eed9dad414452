"""A host function that launches Triton kernels is drafted, read and judged as a whole."""

from pathlib import Path

import pytest

from kernel_gate.expressions import evaluate
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, Program, Value
from kernel_gate.reasons import Reason
from kernel_lineage.kernels.reading import kernels_of
from kernel_lineage.learning.same_kernel import merged
from kernel_lineage.workloads.device_size import CHECKED
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import ProgramError, program_from_file

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
KERNELS = """
@triton.jit
def squares(src, dst, count, W: tl.constexpr):
    at = tl.program_id(0) * W + tl.arange(0, W)
    v = tl.load(src + at, mask=at < count, other=0.0)
    tl.store(dst + at, v * v, mask=at < count)


@triton.jit
def row_sums(dst, scale, totals, width, power, W: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, W)
    v = tl.load(dst + r * width + at, mask=at < width, other=0.0)
    tl.store(totals + r, tl.sum(v) * tl.load(scale + r) + power)
"""
FUNCTION = """
def energy(signal, scale, power=0.25):
    rows, width = signal.shape
    hidden = torch.empty_like(signal)
    totals = torch.empty(rows, dtype=torch.float32, device=signal.device)
    squares[(triton.cdiv(signal.numel(), 64),)](signal, hidden, signal.numel(), W=64)
    row_sums[(rows,)](hidden, scale, totals, width, power, W=triton.next_power_of_2(width))
    return totals
"""
CALLED = """
def test_energy():
    signal = torch.randn(12, 40, device="cuda")
    scale = torch.rand(12, device="cuda")
    assert energy(signal, scale, power=0.5).shape == (12,)
"""
FUSED = (
    HEAD
    + """
@triton.jit
def energies(src, scale, totals, width, power, W: tl.constexpr):
    r = tl.program_id(0)
    at = tl.arange(0, W)
    v = tl.load(src + r * width + at, mask=at < width, other=0.0)
    tl.store(totals + r, tl.sum(v * v) * tl.load(scale + r) + power)


def energy(signal, scale, power=0.25):
    rows, width = signal.shape
    sums = torch.empty(rows, dtype=torch.float32, device=signal.device)
    energies[(rows,)](signal, scale, sums, width, power, W=triton.next_power_of_2(width))
    return sums
"""
)
GATED = GateOptions(check_seconds=20, callers_seconds=0)


def drafted(folder: Path, text: str, function: str = "energy", *, measure: bool = False) -> Draft:
    path = folder / "energy.py"
    path.write_text(text)
    return draft_of(target_of(path, function), path, measure=measure)


def programs(
    folder: Path, before: str, after: str, function: str = "energy", *, measure: bool = False
) -> list[Program]:
    workload = drafted(folder, before, function, measure=measure).workload()
    path = folder / "energy.py"
    return [
        program_from_file(path, function, workload, data=text.encode(), changed_from=before.encode())
        for text in (before, after)
    ]


def launches(program: Program) -> list[LaunchStep]:
    return [step for step in program.steps if isinstance(step, LaunchStep)]


@pytest.mark.parametrize("called", [CALLED, ""], ids=["a test calls it", "nobody calls it"])
def test_its_parameters_and_results_are_the_arguments(tmp_path: Path, called: str):
    draft = drafted(tmp_path, HEAD + KERNELS + FUNCTION + called, measure=not called)
    assert not draft.missing
    assert {len(a.shape or ()) for a in draft.arguments if a.name == "scale"} == {1}
    kinds = {a.name: (a.kind, a.dtype) for a in draft.arguments}
    assert kinds == {
        "signal": ("input", "float32"),
        "scale": ("input", "float32"),
        "power": ("scalar", "float32"),
        "totals": ("output", "float32"),
    }
    (totals,) = (a for a in draft.arguments if a.name == "totals")
    assert totals.noalias and len(totals.shape or ()) == 1


@pytest.mark.parametrize(
    "view",
    ["torch.randn(40, 12, device='cuda').t()", "torch.randn(12, 80, device='cuda').chunk(2, dim=-1)[0]"],
)
def test_a_callers_view_counts_by_its_extents(tmp_path: Path, view: str):
    called = CALLED.replace('torch.randn(12, 40, device="cuda")', view)
    draft = drafted(tmp_path, HEAD + KERNELS + FUNCTION + called)
    signal = next(a for a in draft.arguments if a.name == "signal")
    assert not draft.missing and signal.view is None
    assert [evaluate(extent, draft.dims) for extent in signal.shape or ()] == [12, 40]
    assert "signal is taken to lie row by row: its caller has a view" in draft.assumed


def test_a_benchmark_of_it_tells_the_sizes_that_are_timed(tmp_path: Path):
    bench = """
import torch
from energy import energy

def main():
    for rows, width in [(64, 8192), (16384, 512)]:
        signal, scale = torch.randn(rows, width, device="cuda"), torch.ones(rows, device="cuda")
        energy(signal[:2], scale[:2])
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        energy(signal, scale)
        stop.record()

main()
"""
    (tmp_path / "bench_energy.py").write_text(bench)
    draft = drafted(tmp_path, HEAD + KERNELS + FUNCTION + CALLED)
    assert draft.timed == ({"rows": 16384, "width": 512}, {"rows": 64, "width": 8192})


def test_a_function_that_takes_up_one_kernel_for_two(tmp_path: Path):
    before, after = programs(tmp_path, HEAD + KERNELS + FUNCTION + CALLED, FUSED)
    assert [step.entry for step in launches(before)] == ["squares", "row_sums"]
    assert [scratch.name for scratch in before.scratch] == ["hidden"]
    (step,) = launches(after)
    assert step.arguments[:3] == ("signal", "scale", "totals") and step.arguments[4] == "power"
    assert not after.scratch


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        pytest.param("", "", Reason.NOT_PROFILED, marks=pytest.mark.long),
        ("tl.sum(v * v)", "tl.sum(v)", Reason.WRONG_VALUE),
        (", mask=at < width, other=0.0)", ")", Reason.OUT_OF_BOUNDS),
    ],
    ids=["right", "another sum", "no mask"],
)
def test_the_function_is_judged_as_a_whole(tmp_path: Path, old: str, new: str, code: Reason):
    text = HEAD + KERNELS + FUNCTION + CALLED
    workload = drafted(tmp_path, text).workload()
    before, after = programs(tmp_path, text, FUSED.replace(old, new) if old else FUSED)
    verdict = judge(before, after, workload, device="emulated", options=GATED)
    assert verdict.code is code, verdict.reason


def test_what_torch_works_out_behind_the_launches_stays(tmp_path: Path):
    summed = (HEAD + KERNELS + FUNCTION + CALLED).replace("return totals", "return totals.cumsum(0)")
    with pytest.raises(ProgramError, match=r"torch works out `totals.cumsum\(0\)` behind a launch"):
        programs(tmp_path, summed, FUSED)
    with pytest.raises(ProgramError, match=r"torch works out `sums.cumsum\(0\)` behind a launch"):
        programs(
            tmp_path,
            HEAD + KERNELS + FUNCTION + CALLED,
            FUSED.replace("return sums", "return sums.cumsum(0)"),
        )
    same = FUSED.replace("sums", "totals").replace("return totals", "return totals.cumsum(0)")
    both = programs(tmp_path, summed, same)
    assert all("totals" in launches(program)[-1].arguments for program in both)


def test_what_torch_makes_of_what_it_has_worked_out_stays(tmp_path: Path):
    then = "    behind = totals.cumsum(0)\n    return behind * 2"
    text = (HEAD + KERNELS + FUNCTION + CALLED).replace("    return totals", then)
    same = FUSED.replace("sums", "totals").replace("    return totals", then)
    assert len(programs(tmp_path, text, same)) == 2
    with pytest.raises(ProgramError, match=r"torch works out `behind \* [23]` behind a launch"):
        programs(tmp_path, text, same.replace("behind * 2", "behind * 3"))


def test_a_number_that_only_launches_are_given_is_a_dim(tmp_path: Path):
    text = HEAD + KERNELS + FUNCTION.replace("power=0.25", "bias: int").replace(", power, W=", ", bias, W=")
    assert "bias" in drafted(tmp_path, text).dims
    before, _ = programs(tmp_path, text, text, measure=True)
    assert launches(before)[1].arguments[4] == Value("bias", "int32")


def test_what_torch_works_out_first_is_an_input(tmp_path: Path):
    text = HEAD + KERNELS + FUNCTION.replace("    hidden =", "    factor = scale.cumsum(0)\n    hidden =")
    text = text.replace("hidden, scale,", "hidden, factor,") + CALLED
    draft = drafted(tmp_path, text)
    assert {a.name for a in draft.arguments} == {"signal", "factor", "power", "totals"}
    after = FUSED.replace("    sums =", "    factor = scale.cumsum(0)\n    sums =")
    after = after.replace("(signal, scale,", "(signal, factor,")
    _, program = programs(tmp_path, text, after)
    assert launches(program)[0].arguments[1] == "factor"
    with pytest.raises(ProgramError, match="nothing tells"):
        programs(tmp_path, text, after.replace("scale.cumsum(0)", "scale.cumsum(-1)"))


METHOD = """
class Energy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, signal, scale):
        shape = signal.shape
        rows = signal.contiguous().view(-1, shape[-1])
        hidden = torch.empty_like(rows)
        totals = torch.empty(rows.shape[0], device=rows.device)
        squares[lambda meta: (triton.cdiv(rows.numel(), meta["W"]),)](rows, hidden, rows.numel(), W=64)
        row_sums[(rows.shape[0],)](hidden, scale, totals, shape[-1], 0.5, W=triton.next_power_of_2(shape[-1]))
        ctx.save_for_backward(rows, scale)
        return totals.view(shape[:-1])


def test_energy():
    scale = torch.rand(12, device="cuda")
    Energy.apply(torch.randn(3, 4, 40, device="cuda"), scale)
"""


def test_the_forward_of_an_autograd_function(tmp_path: Path):
    draft = drafted(tmp_path, HEAD + KERNELS + METHOD, "Energy.forward")
    assert not draft.missing
    assert {a.name: a.kind for a in draft.arguments} == {
        "signal": "input",
        "scale": "input",
        "totals": "output",
    }


BACKWARD = METHOD.replace(
    "\n\ndef test_energy",
    """
    @staticmethod
    def backward(ctx, slopes):
        rows, scale = ctx.saved_tensors
        hidden = torch.empty_like(rows)
        back = torch.zeros_like(scale)
        if rows.shape[0] > 0:
            squares[(triton.cdiv(rows.numel(), 64),)](rows, hidden, rows.numel(), W=64)
            row_sums[(rows.shape[0],)](hidden, slopes, back, rows.shape[1], 0.5, W=64)
        return None, back


def test_energy""",
).replace(
    'Energy.apply(torch.randn(3, 4, 40, device="cuda"), scale)',
    'Energy.apply(torch.randn(3, 4, 40, device="cuda"), scale).sum().backward()',
)


def test_the_backward_of_an_autograd_function_is_given_what_forward_saves(tmp_path: Path):
    text = HEAD + KERNELS + BACKWARD
    draft = drafted(tmp_path, text, "Energy.backward")
    assert not draft.missing
    assert {a.name: a.kind for a in draft.arguments} == {
        "ctx_saved_tensors_0": "input",
        "ctx_saved_tensors_1": "input",
        "slopes": "input",
        "back": "output",
    }
    before, after = programs(
        tmp_path, text, text.replace("hidden, slopes, back", "rows, slopes, back"), "Energy.backward"
    )
    assert [launches(program)[-1].arguments[0] for program in (before, after)] == [
        "hidden",
        "ctx_saved_tensors_0",
    ]
    with pytest.raises(ProgramError, match="`forward` is changed as well"):
        programs(
            tmp_path,
            text,
            text.replace("save_for_backward(rows, scale)", "save_for_backward(rows, totals)"),
            "Energy.backward",
        )


def test_what_forward_saves_is_compared_with_what_it_returns(tmp_path: Path):
    text = (
        HEAD + KERNELS + METHOD.replace("save_for_backward(rows, scale)", "save_for_backward(hidden, scale)")
    )
    kinds = {a.name: a.kind for a in drafted(tmp_path, text, "Energy.forward").arguments}
    assert kinds == {"signal": "input", "scale": "input", "totals": "output", "hidden": "output"}


@pytest.mark.parametrize("kept", ["ctx.hidden = hidden", "ctx.parts = {'of it': [hidden]}"])
def test_what_forward_leaves_in_its_object_is_compared_with_what_it_returns(tmp_path: Path, kept: str):
    text = HEAD + KERNELS + METHOD.replace("ctx.save_for_backward(rows, scale)", kept)
    kinds = {a.name: a.kind for a in drafted(tmp_path, text, "Energy.forward").arguments}
    assert kinds == {"signal": "input", "scale": "input", "totals": "output", "hidden": "output"}
    with pytest.raises(ProgramError, match="nothing gives `hidden`"):
        programs(tmp_path, text, text.replace(kept, "pass").replace("hidden", "other"), "Energy.forward")


MODULE = """
class Energy(torch.nn.Module):
    def __init__(self, rows, width, power=0.125):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(rows))
        self.width, self.power = width, power

    def forward(self, signal):
        hidden = torch.empty_like(signal)
        totals = torch.empty(signal.shape[0], device=signal.device)
        squares[lambda meta: (triton.cdiv(signal.numel(), meta["W"]),)](signal, hidden, signal.numel(), W=64)
        width = self.width
        row_sums[(len(signal),)](hidden, self.scale, totals, width, self.power, W=triton.next_power_of_2(width))
        return totals


def test_energy():
    rows, columns = 12, 40
    Energy(rows, columns)(torch.randn(rows, columns, device="cuda"))
"""


def test_what_a_module_holds_is_given_with_its_parameters(tmp_path: Path):
    text = HEAD + KERNELS + MODULE
    draft = drafted(tmp_path, text, "Energy.forward")
    assert not draft.missing
    assert {a.name: (a.kind, a.shape or a.value) for a in draft.arguments} == {
        "self_scale": ("input", ("rows",)),
        "self_power": ("scalar", "0.125"),
        "signal": ("input", ("rows", "columns")),
        "totals": ("output", ("rows",)),
    }
    wider = text.replace("W=64", "W=128")
    before, after = programs(tmp_path, text, wider, "Energy.forward")
    assert [step.launch.constexpr["W"] for step in (*launches(before), *launches(after))][::2] == [
        "64",
        "128",
    ]
    with pytest.raises(ProgramError, match=r"nothing tells Energy\.gain"):
        programs(tmp_path, text, wider.replace("self.power, W", "self.gain, W"), "Energy.forward")


def test_kernels_that_a_function_merges_are_one_change():
    before = {("energy.py", k.name): k for k in kernels_of("energy.py", (HEAD + KERNELS + FUNCTION).encode())}
    after = {("energy.py", k.name): k for k in kernels_of("energy.py", FUSED.encode())}
    wholes = list(merged(before, after, ()))
    assert {(old[1], new[1], function) for old, new, function in wholes} == {
        ("squares", "energies", "energy"),
        ("row_sums", "energies", "energy"),
    }


def test_a_sequence_that_cannot_be_launched_says_so(tmp_path: Path):
    text = HEAD + KERNELS + FUNCTION + CALLED
    workload = drafted(tmp_path, text).workload()
    before, after = programs(tmp_path, text, FUSED.replace("(rows,)", "(rows // 4096,)"))
    verdict = judge(before, after, workload, device="emulated", options=GATED)
    assert verdict.code is Reason.LAUNCH_IMPOSSIBLE
    assert "rows // 4096" in verdict.reason


FILLS_THE_DEVICE = (
    HEAD
    + """
@triton.jit
def energies(src, scale, totals, rows, width, power, W: tl.constexpr):
    at = tl.arange(0, W)
    for r in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(src + r * width + at, mask=at < width, other=0.0)
        tl.store(totals + r, tl.sum(v * v) * tl.load(scale + r) + power)


def processors(device):
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 8


def energy(signal, scale, power=0.25):
    rows, width = signal.shape
    sums = torch.empty(rows, dtype=torch.float32, device=signal.device)
    grid = (min(rows, 2 * processors(signal.device)),)
    energies[grid](signal, scale, sums, rows, width, power, W=triton.next_power_of_2(width))
    return sums
"""
)


def test_the_multiprocessors_that_a_function_asks_for_are_a_dim(tmp_path: Path):
    text = HEAD + KERNELS + FUNCTION + CALLED
    before, after = programs(tmp_path, text, FILLS_THE_DEVICE)
    assert launches(after)[0].launch.grid == ("min(rows, 2 * multi_processor_count)",)
    assert not before.own_dims and after.own_dims["multi_processor_count"][0] == CHECKED
    workload = drafted(tmp_path, FILLS_THE_DEVICE + CALLED).workload()
    assert workload.dims["multi_processor_count"] == (CHECKED,)


PICKED = (
    HEAD
    + """
@triton.jit
def picked(weights, index, rate, out, width):
    r = tl.program_id(0)
    at = tl.load(index + r)
    tl.store(out + r, tl.load(weights + r * width + at) / tl.load(rate + r))


def pick(weights, index, rate):
    rows, width = weights.shape
    out = torch.empty(rows, device=weights.device)
    picked[(rows,)](weights, index, rate, out, width)
    return out


def test_pick():
    weights = torch.randn(12, 40, device="cuda").softmax(-1)
    index = torch.multinomial(weights, 1).view(12)
    pick(weights, index, torch.empty(12, device="cuda").exponential_())
"""
)


def test_what_a_test_draws_is_what_the_workload_draws(tmp_path: Path) -> None:
    draft = drafted(tmp_path, PICKED, "pick")
    values = {a.name: a.values for a in draft.arguments}
    assert values["weights"] == "uniform(0, 1)"
    assert values["rate"] == "positive"
    assert evaluate(values["index"].removeprefix("integers(0, ")[:-1], draft.dims) == 40
