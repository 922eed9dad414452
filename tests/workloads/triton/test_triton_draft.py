"""What a draft takes from a Triton kernel's launch, its wrapper and the tests that call it; and what is not told."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.launching import bind
from kernel_gate.program import Program
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.workloads.completing import InTurn, tried_draft
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.kept_drafts import KeptDrafts
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.state import State

HEAD = """\
import torch
import triton
import triton.language as tl
"""

SCALE = f"""\
{HEAD}

@triton.jit
def scale_kernel(out_ptr, out_stride, x_ptr, x_stride, w_ptr, n_cols, shift, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=0.0)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    tl.store(out_ptr + row * out_stride + cols, x * w + shift, mask=mask)


def settings(n):
    block = triton.next_power_of_2(n)
    if block > 65536:
        raise ValueError("too wide")
    warps = 4
    if block >= 512:
        warps = 8
    return block, warps


def scale(x, w, shift=0.5):
    dim = x.shape[-1]
    rows = x.view(-1, dim)
    n_rows, n_cols = rows.shape
    out = torch.empty_like(rows)
    BLOCK, num_warps = settings(n_cols)
    scale_kernel[(n_rows,)](
        out, out.stride(0), rows, rows.stride(0), w, n_cols, shift, BLOCK=BLOCK, num_warps=num_warps
    )
    return out.view(*x.shape)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, shift):
        return scale(x, w, shift)
"""

TEST = """\
import pytest
import torch
from rows import scale


@pytest.mark.parametrize("B, T, C", [(2, 3, 8), pytest.param(2, 4, 600), (1, 1, 5)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_scale(B, T, C, dtype):
    x = torch.randn(B, T, C, dtype=dtype, device="cuda")
    w = torch.randn(C, dtype=dtype, device="cuda")
    assert scale(x, w).shape == x.shape
"""


def drafted(folder: Path, code: str, test: str, kernel: str) -> Draft:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "rows.py").write_text(code)
    (folder / "tests" / "test_rows.py").write_text(test)
    return draft_of(kernel_of(folder / "rows.py", kernel), folder / "rows.py")


def buffers(workload: Workload) -> dict[str, tuple[str, str, tuple[str | int, ...] | None]]:
    return {a.name: (a.kind, a.dtype, a.shape) for a in workload.args if a.is_pointer}


def scalars(workload: Workload) -> dict[str, object]:
    return {a.name: a.value for a in workload.args if not a.is_pointer}


def test_a_test_that_calls_the_wrapper_gives_a_workload_with_nothing_missing(tmp_path: Path) -> None:
    draft = drafted(tmp_path, SCALE, TEST, "scale_kernel")
    assert draft.missing == ()
    assert dict(draft.dims) == {"B": 2, "T": 4, "C": 600}, "the largest case of the list"
    workload = draft.workload()
    assert buffers(workload) == {
        "out_ptr": ("output", "bfloat16", ("B * T", "C")),
        "x_ptr": ("input", "bfloat16", ("B * T", "C")),
        "w_ptr": ("input", "bfloat16", ("C",)),
    }
    assert scalars(workload) == {"out_stride": "C", "x_stride": "C", "n_cols": "C", "shift": "0.5"}
    assert workload.launch.grid == ("B * T",)
    assert workload.launch.constexpr == {"BLOCK": "next_power_of_2(C)"}
    assert workload.launch.num_warps == 8, "settings(600) gives it"


def test_warps_that_a_wrapper_computes_are_an_expression_over_dims(tmp_path: Path) -> None:
    computed = SCALE.replace("warps = 4", "warps = min(max(block // 256, 1), 8)").replace(
        "    if block >= 512:\n        warps = 8\n", ""
    )
    draft = drafted(tmp_path, computed, TEST, "scale_kernel")
    assert draft.missing == ()
    workload = draft.workload()
    assert workload.launch.num_warps == "min(max(next_power_of_2(C) // 256, 1), 8)"
    program = Program("triton", computed, "scale_kernel")
    warps = [bind(workload, program, {"B": 2, "T": 4, "C": c}).launches[0].unit.num_warps for c in (100, 600)]
    assert warps == [1, 4]


OTHER_NAME = f"{SCALE}\n\nscaled = Scale.apply\n"
OTHER_TEST = TEST.replace("import scale", "import scaled").replace(
    "assert scale(x, w)", "assert scaled(x, w, 0.25)"
)


def test_a_test_that_calls_a_function_by_another_name_of_its_module_is_followed(tmp_path: Path) -> None:
    draft = drafted(tmp_path, OTHER_NAME, OTHER_TEST, "scale_kernel")
    assert draft.tested
    assert dict(draft.dims) == {"B": 2, "T": 4, "C": 600}
    workload = draft.workload()
    assert buffers(workload)["x_ptr"] == ("input", "bfloat16", ("B * T", "C"))
    assert scalars(workload)["shift"] == "0.25", "the test gives it"


@pytest.mark.long
def test_a_draft_through_another_name_sees_wrong_kernels(tmp_path: Path) -> None:
    drafted(tmp_path, OTHER_NAME, OTHER_TEST, "scale_kernel")
    kernel = kernel_of(tmp_path / "rows.py", "scale_kernel")
    _, proof = tried_draft(kernel, tmp_path / "rows.py", per_kind=1, kinds=("wrong_stride", "zero_output"))
    assert proof is not None and not proof.blind
    assert {t.fate for t in proof.tried} == {"killed"}


def test_parameters_that_no_case_gives_have_the_tests_own_defaults(tmp_path: Path) -> None:
    test = TEST.replace('"B, T, C", [(2, 3, 8), pytest.param(2, 4, 600), (1, 1, 5)]', '"C", [8, 600]')
    draft = drafted(
        tmp_path,
        SCALE,
        test.replace("(B, T, C, dtype)", "(C, dtype, B=2, T=LENGTH)") + "LENGTH = 4\n",
        "scale_kernel",
    )
    assert dict(draft.dims) == {"B": 2, "T": 4, "C": 600}
    assert buffers(draft.workload())["x_ptr"] == ("input", "bfloat16", ("B * T", "C"))


BENCHMARK = """\
import torch
import triton
from rows import scale


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["C"],
        x_vals=[2**i for i in range(6, 9)],
        line_arg="provider",
        line_vals=["torch", "triton"],
        line_names=["Torch", "Triton"],
        plot_name="scale",
        args={"N": 24},
    )
)
def benchmark(N, C, provider):
    x = torch.randn(N, C, device="cuda")
    w = torch.randn(C, device="cuda")
    if provider == "torch":
        return triton.testing.do_bench(lambda: x * w)
    if provider == "triton":
        return triton.testing.do_bench(lambda: scale(x, w), quantiles=[0.5, 0.2, 0.8])
"""


def test_a_benchmark_gives_the_sizes_that_it_times(tmp_path: Path) -> None:
    draft = drafted(tmp_path, SCALE, BENCHMARK, "scale_kernel")
    assert draft.tested
    assert dict(draft.dims) == {"C": 256, "N": 24}, "the largest of the axis"
    assert buffers(draft.workload())["x_ptr"] == ("input", "float32", ("N", "C"))


def test_numbers_in_a_test_are_dims_by_the_names_that_the_wrapper_has_for_them(tmp_path: Path) -> None:
    test = TEST.replace("B, T, C, dtype=dtype", "6, 40, dtype=dtype").replace("randn(C,", "randn(40,")
    workload = drafted(tmp_path, SCALE, test, "scale_kernel").workload()
    assert workload.dims == {"n_rows": (6,), "dim": (40,)}
    assert buffers(workload)["w_ptr"][2] == ("dim",), "the same number is the same dim"


def test_a_number_that_a_test_names_is_one_dim_in_shapes_and_in_numbers(tmp_path: Path) -> None:
    """Else a size that is made smaller for checking would leave the number of columns as it was."""
    test = """\
import torch
from rows import scale_kernel

def test_kernel():
    batch = 4
    width = 640
    x = torch.randn(batch, width, device="cuda")
    w = torch.randn(width, device="cuda")
    out = torch.empty_like(x)
    scale_kernel[(batch,)](out, out.stride(0), x, x.stride(0), w, width, 0.5, BLOCK=1024)
"""
    workload = drafted(tmp_path, SCALE, test, "scale_kernel").workload()
    assert buffers(workload)["x_ptr"][2] == ("batch", "width")
    assert scalars(workload)["n_cols"] == "width"
    assert workload.launch.grid == ("batch",)
    assert workload.launch.constexpr == {"BLOCK": "1024"}


def test_tensors_that_a_test_maps_are_what_it_maps_them_to(tmp_path: Path) -> None:
    test = TEST.replace(
        "    assert", "    x, w = map(lambda t: t.to('cuda').requires_grad_(), (x, w))\n    assert"
    )
    workload = drafted(tmp_path, SCALE, test, "scale_kernel").workload()
    assert buffers(workload)["x_ptr"] == ("input", "bfloat16", ("B * T", "C"))


def test_a_module_between_and_its_classes_are_followed(tmp_path: Path) -> None:
    (tmp_path / "layer.py").write_text(
        f"{HEAD}from rows import Scale\n\n\nclass Layer(torch.nn.Module):\n"
        "    def __init__(self, width, shift=0.25):\n"
        "        self.weight, self.shift = None, shift\n"
        "        self.weight = torch.nn.Parameter(torch.ones(width))\n\n"
        "    def forward(self, x):\n        return Scale.apply(x, self.weight, self.shift)\n"
    )
    test = (
        TEST.replace("from rows import scale", "from layer import Layer")
        .replace("scale(x, w)", "Layer(C).to(dtype)(x)")
        .replace('    w = torch.randn(C, dtype=dtype, device="cuda")\n', "")
    )
    workload = drafted(tmp_path, SCALE, test, "scale_kernel").workload()
    assert buffers(workload)["w_ptr"][2] == ("C",)
    assert scalars(workload)["shift"] == "0.25"


BACKWARD = f"""\
{HEAD}

@triton.jit
def add_kernel(dx_ptr, dy_ptr, dy_stride, mean_ptr, w_ptr, n_cols, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    dy = tl.load(dy_ptr + row * dy_stride + cols, mask=mask, other=0.0)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    mean = tl.load(mean_ptr + row)
    tl.atomic_add(dx_ptr + row * n_cols + cols, (dy - mean) * w * scale, mask=mask)


class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, scale=2.0):
        return x

    @staticmethod
    def backward(ctx, dy):
        w, mean = ctx.saved_tensors
        n_rows, n_cols = dy.shape
        dx = torch.zeros((n_rows, n_cols), dtype=dy.dtype, device=dy.device)
        grid = lambda meta: (triton.cdiv(n_rows, 1),)
        add_kernel[grid](dx, dy, dy.stride(0), mean, w, n_cols, ctx.scale, BLOCK=triton.next_power_of_2(n_cols))
        return dx
"""
BACKWARD_TEST = """\
import torch
from rows import Add


def test_add():
    x = torch.randn(5, 70)
    y = Add.apply(x, torch.ones(70))
"""


def test_what_no_test_reaches_is_concluded_from_the_tests_tensors_and_from_addresses(tmp_path: Path) -> None:
    draft = drafted(
        tmp_path, BACKWARD, BACKWARD_TEST.replace("Add.apply(", "vars()['Add'].apply("), "add_kernel"
    )
    assert draft.missing == ()
    workload = draft.workload()
    assert {name: (kind, shape) for name, (kind, _, shape) in buffers(workload).items()} == {
        "dx_ptr": ("inout", ("n_rows", "n_cols")),
        "dy_ptr": ("input", ("n_rows", "n_cols")),
        "mean_ptr": ("input", ("n_rows",)),
        "w_ptr": ("input", ("n_cols",)),
    }
    assert scalars(workload)["scale"] == "2.0"
    notes = "\n".join(draft.assumed)
    assert "x is taken to have the shape (n_rows, n_cols) of a tensor of test_add in test_rows.py" in notes
    assert "the shape of mean_ptr is concluded from how the kernel addresses it" in notes
    assert "scale is 2.0, its default in Add.forward in rows.py" in notes


def test_the_backward_of_a_function_that_a_test_applies_gets_what_its_forward_saved(tmp_path: Path) -> None:
    code = BACKWARD.replace(
        "        return x\n",
        "        ctx.scale = scale\n        ctx.save_for_backward(w, x.new_empty(x.shape[0]))\n        return x\n",
    )
    draft = drafted(tmp_path, code, BACKWARD_TEST, "add_kernel")
    assert draft.assumed == (
        "sizes are those of test_add in test_rows.py",
        "dx_ptr is cleared before the launch",
    )
    workload = draft.workload()
    assert buffers(workload)["mean_ptr"][2] == ("n_rows",)
    assert scalars(workload)["scale"] == "2.0"


def test_a_dim_may_have_the_name_of_a_constexpr_parameter(tmp_path: Path) -> None:
    code = SCALE.replace("n_cols, shift, BLOCK: tl", "C: tl.constexpr, shift, BLOCK: tl").replace(
        "< n_cols", "< C"
    )
    workload = drafted(tmp_path, code, TEST, "scale_kernel").workload()
    assert workload.dims["C_"] == (600,)
    assert workload.launch.constexpr["C"] == "C_"


def test_a_stride_of_an_unknown_shape_decides_nothing(tmp_path: Path) -> None:
    code = SCALE.replace("    dim = x", "    if w.stride(0) != 1:\n        w = w.contiguous()\n    dim = x")
    draft = drafted(tmp_path, code, "", "scale_kernel")
    assert buffers(draft.workload())["w_ptr"][2] == ("dim",), "seen by running the kernel"


TUNED = f"""\
{HEAD}

@triton.autotune(
    configs=[triton.Config({{"BLOCK": b}}, num_warps=w) for b in (128, 256) for w in (2, 4)], key=["n"]
)
@triton.heuristics({{"EVEN": lambda args: args["n"] % args["BLOCK"] == 0}})
@triton.jit
def gather(out_ptr, x_ptr, index_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr + at, tl.load(x_ptr + index, mask=at < n), mask=at < n)


def gathered(x, index):
    out = torch.empty(index.numel(), dtype=x.dtype, device=x.device)
    gather[lambda meta: (triton.cdiv(out.numel(), meta["BLOCK"]),)](out, x, index, out.numel())
    return out
"""
TUNED_TEST = """\
import torch
from rows import gathered


def test_gathered():
    V, N = 50, 300
    gathered(torch.randn(50), torch.randint(0, 50, (300,)))
"""


@pytest.mark.parametrize("tuner", ["triton.autotune", "kept_autotune"])
def test_tuned_values_are_those_of_the_first_configuration(tuner: str, tmp_path: Path) -> None:
    draft = drafted(tmp_path, TUNED.replace("triton.autotune", tuner), TUNED_TEST, "gather")
    workload = draft.workload()
    assert workload.launch.constexpr["BLOCK"] == "128"
    assert workload.launch.grid == ("ceil_div(d300, BLOCK)",)
    assert workload.launch.num_warps == 2
    assert "the first of the autotuner's configurations is taken" in draft.assumed
    index = workload.argument("index_ptr")
    assert index is not None
    assert (index.dtype, index.values) == ("int64", "integers(0, d50)")


def test_a_configuration_that_no_device_holds_gives_way_to_the_next(tmp_path: Path) -> None:
    drafted(tmp_path, TUNED, TUNED_TEST, "gather")
    path = tmp_path / "rows.py"
    turn = InTurn(kernel_of(path, "gather"), path, State(tmp_path))
    refused = "the baseline does not pass: invalid launch: 294912 bytes of shared memory per block; sm_90 has 232448"
    draft, taken = turn.first(), []
    while draft is not None:
        taken.append((draft.constexpr["BLOCK"], draft.num_warps))
        draft = turn.after(draft, refused)
    assert taken == [("128", 2), ("128", 4), ("256", 2), ("256", 4)]


def test_a_draft_that_an_editor_keeps_gives_way_to_the_next_configuration_and_to_no_other_size(
    tmp_path: Path,
) -> None:
    drafted(tmp_path, TUNED, TUNED_TEST, "gather")
    path, kept = tmp_path / "rows.py", KeptDrafts()
    text = path.read_bytes()
    first = kept.workload_of(path, text, "gather").workload
    refused = "the baseline does not pass: invalid launch: 294912 bytes of shared memory per block; sm_90 has 232448"
    spot, taken = kept.mended(path, text, "gather", refused), []
    while spot is not None:
        taken.append((spot.workload.launch.constexpr["BLOCK"], spot.workload.launch.num_warps))
        last, spot = spot, kept.mended(path, text, "gather", refused)
    assert taken == [("128", 4), ("256", 2), ("256", 4)]
    assert kept.workload_of(path, text, "gather") == last, "the next check begins with what has run"
    unguarded = text.replace(b"mask=", b"other=0, mask=")
    assert kept.mended(path, unguarded, "gather", "out of bounds at out_ptr[300]") is None
    assert kept.workload_of(path, unguarded, "gather").workload.dims == first.dims


@pytest.mark.parametrize(
    ("gone", "there", "missing"),
    [
        ("shift=0.5", "shift", "the value of shift: nothing tells shift"),
        ("(n_rows,)", "(programs(),)", "the grid: nothing tells programs(…)"),
        ("torch.empty_like(rows)", "allocate(rows)", "the shape of out_ptr: nothing tells allocate(…)"),
        ("BLOCK, num_warps = settings(n_cols)", "BLOCK, num_warps = tuned(n_cols)", "the constexpr BLOCK"),
    ],
)
def test_what_the_host_does_not_tell_is_said_and_never_made_up(
    tmp_path: Path, gone: str, there: str, missing: str
) -> None:
    assert gone in SCALE
    draft = drafted(tmp_path, SCALE.replace(gone, there), TEST, "scale_kernel")
    assert any(missing in m for m in draft.missing), draft.missing
    assert any(line.startswith("# not found: ") and missing in line for line in draft.text.splitlines())
    with pytest.raises(WorkloadError, match="not complete"):
        draft.workload()


def test_without_a_test_the_sizes_are_chosen_and_said_to_be(tmp_path: Path) -> None:
    draft = drafted(tmp_path, SCALE, "", "scale_kernel")
    assert draft.dims["dim"] == 256, "the block grows with a row, as long as four warps take it"
    assert draft.dims["n_rows"] >= 1 << 15, "worth timing"
    assert draft.checked["n_rows"] != draft.checked["dim"]
    assert "x is taken to have the shape (n_rows, dim)" in draft.assumed
    assert any(s.startswith("n_rows is chosen: nothing tells it") for s in draft.assumed)
    assert buffers(draft.workload())["out_ptr"][2] == ("n_rows", "dim")


@pytest.mark.long
def test_a_drafted_triton_workload_is_proved_by_mutants(tmp_path: Path) -> None:
    drafted(tmp_path, SCALE, TEST, "scale_kernel")
    path = tmp_path / "rows.py"
    kernel = kernel_of(path, "scale_kernel")
    _, proof = tried_draft(kernel, path, per_kind=1, kinds=("zero_output", "dropped_term"))
    assert proof is not None
    assert proof.blind == ""
    assert [(t.mutant.kind, t.fate) for t in proof.tried] == [
        ("dropped_term", "killed"),
        ("zero_output", "killed"),
    ]


UNTYPED = """
@triton.jit
def twice(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def run(x):
    out = torch.empty_like(x)
    twice[(triton.cdiv(x.shape[0], 128),)](out, x, x.shape[0], BLOCK=128)
    return out
"""


def test_data_of_which_nothing_tells_the_type_is_of_half_the_size_where_a_device_does_not_hold_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "twice.py"
    path.write_text(HEAD + UNTYPED)
    turn = InTurn(kernel_of(path, "twice"), path, State(tmp_path))
    first = turn.first()
    second = turn.after(first, "invalid launch: 393216 bytes of shared memory per block; sm_90 has 232448")
    assert second is not None
    assert [a.dtype for a in first.arguments if a.is_buffer] == ["float32", "float32"]
    assert [a.dtype for a in second.arguments if a.is_buffer] == ["float16", "float16"]
    assert any("nothing tells the dtype of x; float16 is assumed" in note for note in second.assumed)
    assert (
        turn.after(second, "invalid launch: 393216 bytes of shared memory per block; sm_90 has 232448")
        is None
    )


def test_what_lies_between_two_readings_of_a_clock_is_timed(tmp_path: Path) -> None:
    bench = """\
import time
import torch
from rows import scale

for N, C in ((512, 4096), (8192, 1024)):
    x, w = torch.randn(N, C, device="cuda"), torch.randn(C, device="cuda")
    assert torch.allclose(scale(x[:3], w), x[:3] * w)
    torch.cuda.synchronize()
    before = time.monotonic_ns()
    for _ in range(50):
        scale(x, w)
    torch.cuda.synchronize()
    print(N, C, (time.monotonic_ns() - before) / 50)
"""
    (tmp_path / "bench_rows.py").write_text(bench)
    draft = drafted(tmp_path, SCALE, TEST, "scale_kernel")
    assert draft.timed == ({"N": 8192, "C": 1024}, {"N": 512, "C": 4096})
