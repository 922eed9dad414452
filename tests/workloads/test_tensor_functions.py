"""A host function over tensors of PyTorch that launches CUDA kernels is drafted, read and judged as a whole."""

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, Program
from kernel_gate.reasons import Reason
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import ProgramError, program_from_file

HEAD = "#include <torch/extension.h>\n"
KERNELS = """
template <typename T>
__global__ void peak_of(const T* signal, float* peak, int64_t width) {
    float own = 0.f;
    for (int64_t c = threadIdx.x; c < width; c += 32) own = fmaxf(own, fabsf((float)signal[blockIdx.x * width + c]));
    for (int o = 16; o > 0; o /= 2) own = fmaxf(own, __shfl_xor_sync(0xffffffff, own, o));
    if (threadIdx.x == 0) peak[blockIdx.x] = own;
}
template <typename T>
__global__ void levelled(const T* signal, const float* peak, T* out, float floor, int64_t total, int64_t width) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) out[i] = (float)signal[i] / fmaxf(peak[i / width], floor);
}
"""
FUNCTION = """
torch::Tensor level(torch::Tensor signal, double floor) {
    TORCH_CHECK(signal.dim() == 2, "signal must be [rows, width]");
    const int64_t rows = signal.size(0), width = signal.size(1);
    auto peak = torch::empty({rows}, signal.options().dtype(torch::kFloat32));
    auto out = torch::empty_like(signal);
    AT_DISPATCH_FLOATING_TYPES(signal.scalar_type(), "level", [&] {
        peak_of<scalar_t><<<rows, 32>>>(signal.data_ptr<scalar_t>(), peak.data_ptr<float>(), width);
        levelled<scalar_t><<<(signal.numel() + 255) / 256, 256>>>(
            signal.data_ptr<scalar_t>(), peak.data_ptr<float>(), out.data_ptr<scalar_t>(), floor, signal.numel(),
            width);
    });
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("level", &level); }
"""
FUSED = (
    HEAD
    + """
__global__ void level_rows(const float* signal, float* out, float floor, int64_t width) {
    __shared__ float peaks[64];
    const float* row = signal + blockIdx.x * width;
    float own = 0.f;
    for (int64_t c = threadIdx.x; c < width; c += 64) own = fmaxf(own, fabsf(row[c]));
    peaks[threadIdx.x] = own;
    __syncthreads();
    for (int o = 32; o > 0; o /= 2) {
        if (threadIdx.x < o) peaks[threadIdx.x] = fmaxf(peaks[threadIdx.x], peaks[threadIdx.x + o]);
        __syncthreads();
    }
    for (int64_t c = threadIdx.x; c < width; c += 64) out[blockIdx.x * width + c] = row[c] / fmaxf(peaks[0], floor);
}
torch::Tensor level(torch::Tensor signal, double floor) {
    auto made = torch::empty_like(signal);
    level_rows<<<signal.size(0), 64>>>(signal.data_ptr<float>(), made.data_ptr<float>(), floor, signal.size(1));
    return made;
}
"""
)
CALLER = """
import torch
import level_ext

def test_level():
    signal = torch.randn(24, 700, device="cuda")
    assert level_ext.level(signal, 0.125).shape == (24, 700)
"""
GATED = GateOptions(check_seconds=20, callers_seconds=0)


def drafted(folder: Path, text: str = HEAD + KERNELS + FUNCTION, function: str = "level") -> Draft:
    path = folder / "level.cu"
    path.write_text(text)
    return draft_of(target_of(path, function), path, measure=False)


def programs(folder: Path, after: str, before: str = HEAD + KERNELS + FUNCTION) -> list[Program]:
    workload = drafted(folder, before).workload()
    path = folder / "level.cu"
    return [
        program_from_file(path, "level", workload, data=text.encode(), changed_from=before.encode())
        for text in (before, after)
    ]


def launches(program: Program) -> list[LaunchStep]:
    return [step for step in program.steps if isinstance(step, LaunchStep)]


def test_its_parameters_and_results_are_the_arguments(tmp_path: Path):
    draft = drafted(tmp_path)
    assert not draft.missing
    assert {a.name: (a.kind, a.dtype, a.shape) for a in draft.arguments} == {
        "signal": ("input", "float32", ("rows", "width")),
        "floor": ("scalar", "float64", None),
        "out": ("output", "float32", ("rows", "width")),
    }
    assert next(a for a in draft.arguments if a.name == "out").noalias


def test_a_test_in_python_gives_the_sizes(tmp_path: Path):
    (tmp_path / "test_level.py").write_text(CALLER)
    (tmp_path / ".git").mkdir()
    draft = drafted(tmp_path)
    assert draft.tested and sorted(draft.dims.values()) == [24, 700]
    assert next(a for a in draft.arguments if a.name == "floor").value == "0.125"


def test_a_function_that_takes_up_one_kernel_for_two(tmp_path: Path):
    before, after = programs(tmp_path, FUSED)
    assert [step.entry for step in launches(before)] == ["peak_of", "levelled"]
    assert [scratch.name.rpartition("_")[0] for scratch in before.scratch] == ["peak"]
    (step,) = launches(after)
    assert step.arguments[:2] == ("signal", "out") and not after.scratch


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        pytest.param("", "", Reason.NOT_PROFILED, marks=pytest.mark.long),
        ("fmaxf(own, fabsf(row[c]))", "fmaxf(own, row[c])", Reason.WRONG_VALUE),
        ("    __syncthreads();\n    for (int o", "    for (int o", Reason.RACE),
    ],
    ids=["right", "another peak", "no barrier"],
)
def test_it_is_judged_with_all_that_it_launches(tmp_path: Path, old: str, new: str, code: Reason):
    workload = drafted(tmp_path).workload()
    before, after = programs(tmp_path, FUSED.replace(old, new, 1))
    verdict = judge(before, after, workload, device="emulated", options=GATED)
    assert verdict.code is code, verdict.reason


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("return made;", "return signal;", "does not make `out` and give it back"),
        ("return made;", "return made.cumsum(0);", "gives back `made.cumsum()`"),
        ("return made;", "return made.t();", "gives back a view of `made`"),
        ("empty_like(signal)", "empty({signal.size(0)}, signal.options())", "another shape"),
        ("torch::Tensor level(torch::Tensor", "torch::Tensor raise(torch::Tensor", "has no kernel `level`"),
    ],
    ids=["gives something else", "torch works on", "in another order", "another shape", "gone"],
)
def test_what_is_not_read_says_why(tmp_path: Path, old: str, new: str, reason: str):
    with pytest.raises(ProgramError, match=reason.replace("(", "\\(").replace(")", "\\)")):
        programs(tmp_path, FUSED.replace(old, new, 1))


def test_a_tensor_that_may_be_left_out(tmp_path: Path):
    text = (
        (HEAD + KERNELS + FUNCTION)
        .replace("double floor)", "double floor, c10::optional<torch::Tensor> gain)")
        .replace(
            "    auto out", "    if (gain.has_value()) TORCH_CHECK(gain->numel() == rows);\n    auto out", 1
        )
    )
    draft = drafted(tmp_path, text)
    assert not draft.missing


CHOSEN = """
template <bool kWide>
__global__ void level_rows(const float* signal, float* out, float floor, int64_t width) {
    if (threadIdx.x == 0) out[blockIdx.x] = kWide ? signal[blockIdx.x * width] : floor;
}
bool is_aligned(const torch::Tensor& t) { return reinterpret_cast<uintptr_t>(t.data_ptr()) % 16 == 0; }
torch::Tensor level(torch::Tensor signal, double floor) {
    auto out = torch::empty_like(signal);
    const bool wide = is_aligned(signal) && is_aligned(out);
    CHOICE
    return out;
}
"""
ARGUMENTS = (
    "<<<signal.size(0), 64>>>(signal.data_ptr<float>(), out.data_ptr<float>(), floor, signal.size(1));"
)
POINTER = "void (*one)(const float*, float*, float, int64_t)"


@pytest.mark.parametrize(
    "choice",
    [
        f"auto one = wide ? level_rows<true> : level_rows<false>; one{ARGUMENTS}",
        f"auto* one = wide ? &level_rows<true> : &level_rows<false>; one{ARGUMENTS}",
        f"{POINTER} = level_rows<false>; if (wide) one = level_rows<true>; one{ARGUMENTS}",
        f"{POINTER}; if (wide) one = &level_rows<true>; else one = &level_rows<false>; one{ARGUMENTS}",
        f"auto go = [&](auto one) {{ one{ARGUMENTS} }}; if (wide) go(level_rows<true>); else go(level_rows<false>);",
    ],
    ids=["conditional", "address", "function pointer", "unset pointer", "lambda"],
)
def test_a_kernel_that_is_chosen_first(tmp_path: Path, choice: str):
    _, after = programs(tmp_path, HEAD + CHOSEN.replace("CHOICE", choice))
    (step,) = launches(after)
    assert (step.entry, step.template_arguments) == ("level_rows", ("true",))


def test_what_chooses_a_kernel_is_named_where_nothing_tells_it(tmp_path: Path):
    choice = f"auto one = is_loud(signal) ? level_rows<true> : level_rows<false>; one{ARGUMENTS}"
    with pytest.raises(ProgramError, match=r"is_loud\(\)"):
        programs(tmp_path, HEAD + CHOSEN.replace("CHOICE", choice))


KEPT_PEAK = (HEAD + KERNELS + FUNCTION).replace(
    "    auto peak = torch::empty(",
    "    static float* kept = nullptr;\n    const bool is_new = kept == nullptr;\n"
    "    if (is_new) cudaMalloc(&kept, rows * sizeof(float));\n    auto peak = torch::empty(",
)
KEPT_PEAK = KEPT_PEAK.replace("peak.data_ptr<float>()", "kept").replace(
    "        peak_of<", "        if (is_new) peak_of<"
)


@pytest.mark.long
def test_what_the_first_call_keeps_of_its_data_is_wrong_for_the_next(tmp_path: Path):
    before, after = programs(tmp_path, KEPT_PEAK)
    assert after.calls == 2 and [step.entry for step in launches(after)] == [
        "peak_of",
        "levelled",
        "levelled",
    ]
    verdict = judge(before, after, drafted(tmp_path).workload(), device="emulated", options=GATED)
    assert verdict.code is Reason.WRONG_VALUE, verdict.reason


TABLE = (
    HEAD
    + """
#include <map>
__global__ void fill(float* table, float floor, int64_t width) {
    for (int64_t i = threadIdx.x; i < width; i += 32) table[i] = floor;
}
__global__ void peaks(const float* signal, const float* table, float* out, int64_t width) {
    float own = table[0];
    for (int64_t c = 0; c < width; c++) own = fmaxf(own, fabsf(signal[blockIdx.x * width + c]));
    out += blockIdx.x * width;
    for (int64_t c = threadIdx.x; c < width; c += 32) out[c] = signal[blockIdx.x * width + c] / own;
}
torch::Tensor table_of(const torch::Tensor& like, double floor, int64_t width) {
    KEPT
        auto fresh = torch::empty({width}, like.options());
        fill<<<1, 32>>>(fresh.data_ptr<float>(), (float)floor, width);
        HOLD
    }
    return t;
}
torch::Tensor level(torch::Tensor signal, double floor) {
    auto out = torch::empty_like(signal);
    auto table = table_of(signal, floor, signal.size(1));
    peaks<<<signal.size(0), 32>>>(
        signal.data_ptr<float>(), table.data_ptr<float>(), out.data_ptr<float>(), signal.size(1));
    return out;
}
"""
)
OF_KEYS = "static auto* kept = new std::map<std::tuple<int, float, int64_t>, torch::Tensor>();"
SINGLE = "static torch::Tensor t; static double last = 0; static int64_t wide = 0;"
AT = "(*kept)[{like.get_device(), floor, width}]"


def table(kept: str, hold: str) -> str:
    return TABLE.replace("KEPT", kept).replace("HOLD", hold)


@pytest.mark.parametrize(
    ("kept", "hold"),
    [
        (f"{OF_KEYS} auto& t = {AT}; if (!t.defined()) {{", "t = fresh;"),
        (f"{OF_KEYS} if ({AT.replace('[', '.find(').replace(']', ')')} == kept->end()) {{", f"{AT} = fresh;"),
        (
            f"{SINGLE} if (!t.defined() || last != floor || wide != width) {{",
            "t = fresh; last = floor; wide = width;",
        ),
    ],
    ids=["reference into a map", "find", "compared numbers"],
)
def test_what_a_static_variable_keeps_is_read_in_a_second_call(tmp_path: Path, kept: str, hold: str):
    _, after = programs(
        tmp_path, table(kept, hold).replace("return t;", f"return {AT};" if "find" in kept else "return t;")
    )
    assert [step.entry for step in launches(after)] == ["fill", "peaks", "peaks"]
    first, second = launches(after)[1:]
    assert (first.arguments[1], second.arguments[0]) == (second.arguments[1], "signal")


@pytest.mark.parametrize(
    ("kept", "hold", "name"),
    [
        (f"{SINGLE} if (!t.defined()) {{", "t = fresh;", "floor"),
        (f"{SINGLE} if (!t.defined() || last != floor) {{", "t = fresh; last = floor;", "width"),
    ],
    ids=["once", "one number"],
)
def test_what_is_kept_for_other_numbers_is_named(tmp_path: Path, kept: str, hold: str, name: str):
    with pytest.raises(ProgramError, match=f"does not launch `fill` again, and nothing compares `{name}`"):
        programs(tmp_path, table(kept, hold))


def test_what_torch_works_out_behind_the_launches_is_not_passed_over(tmp_path: Path):
    text = (HEAD + KERNELS + FUNCTION).replace("return out;", "return {out, out.median()};")
    text = text.replace("torch::Tensor level(", "std::vector<torch::Tensor> level(")
    (missing,) = drafted(tmp_path, text).missing
    assert "gives back `out.median()`" in missing


@pytest.mark.parametrize(
    ("made", "is_read"),
    [
        ("static torch::Tensor peak = FRESH;", False),
        ("static torch::Tensor peak; if (!peak.defined()) peak = FRESH;", False),
        ("static torch::Tensor peak; if (!peak.defined() || peak.numel() > rows) peak = FRESH;", False),
        ("static torch::Tensor peak; if (!peak.defined() || peak.size(0) < rows) peak = FRESH;", True),
        ("static torch::Tensor peak; if (!peak.defined() || rows != peak.numel()) peak = FRESH;", True),
    ],
)
def test_memory_that_is_kept_is_compared_with_the_sizes_of_a_later_call(
    tmp_path: Path, made: str, is_read: bool
):
    fresh = "torch::empty({rows}, signal.options().dtype(torch::kFloat32))"
    before = HEAD + KERNELS + FUNCTION
    after = before.replace(f"auto peak = {fresh};", made.replace("FRESH", fresh))
    assert after != before
    if is_read:
        assert len(launches(programs(tmp_path, after)[1])) == 2
    else:
        with pytest.raises(
            ProgramError, match=r"a later call of `level` uses memory of the first, .* `rows`"
        ):
            programs(tmp_path, after)
