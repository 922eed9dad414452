"""Host functions over tensors of PyTorch with loops in which tensors change places and are cleared."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.verdict import StageStatus
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import ProgramError, program_from_file

HEAD = "#include <torch/extension.h>\n"
SPREAD = """
__global__ void spread(const float* heat, float* next, MORE int64_t n) {
    int64_t i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) {
        float left = heat[i > 0 ? i - 1 : i], right = heat[i + 1 < n ? i + 1 : i];
        next[i] = heat[i] + 0.25f * (left + right - 2.f * heat[i]);
        THEN
    }
}
"""
GREATEST = """
__global__ void greatest(const float* heat, const float* next, float* most, int64_t n) {
    int64_t i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) atomicMax((int*)most, __float_as_int(fabsf(heat[i] - next[i])));
}
"""
TWO = SPREAD.replace("MORE ", "").replace("THEN", "") + GREATEST
ONE = SPREAD.replace("MORE", "float* most,").replace(
    "THEN", "atomicMax((int*)most, __float_as_int(fabsf(heat[i] - next[i])));"
)
COPIED = """
std::vector<torch::Tensor> relax(torch::Tensor heat, int64_t rounds) {
    TORCH_CHECK(heat.dim() == 1);
    const int64_t n = heat.size(0);
    auto now = heat.clone(), next = torch::empty_like(heat);
    auto most = torch::empty({1}, heat.options());
    for (int i = 0; i < rounds; ++i) {
        most.zero_();
        LAUNCHES(now., next.)
        std::swap(now, next);
    }
    return {now, most};
}
"""
HELD = """
std::vector<torch::Tensor> relax(const torch::Tensor& heat, int rounds) {
    const auto n = heat.size(0);
    torch::Tensor now = heat.clone(), next = torch::zeros_like(now), most = torch::ones({1}, heat.options());
    for (int i = 0; i < rounds; i++) {
        most.fill_(0);
        LAUNCHES(now., next.)
        auto held = now;
        now = next;
        next = held;
    }
    return {now, most};
}
"""
IN_PLACE = """
std::vector<torch::Tensor> relax(torch::Tensor heat, int64_t rounds) {
    const int64_t n = heat.numel();
    auto spare = torch::empty_like(heat), most = torch::empty({1}, heat.options());
    torch::Tensor *now = &heat, *next = &spare;
    for (int64_t i = 0; i < rounds; ++i) {
        most.zero_();
        LAUNCHES(now->, next->)
        std::swap(now, next);
    }
    return {*now, most};
}
"""
CLEARS = {
    COPIED: "        most.zero_();\n",
    HELD: "        most.fill_(0);\n",
    IN_PLACE: "        most.zero_();\n",
}


def written(host: str, *, fused: bool) -> str:
    """The file with a host function that launches two kernels in each round, or one."""
    before, _, behind = host.partition("        LAUNCHES(")
    (now, following), _, rest = (part := behind.partition(")\n"))[0].split(", "), part[1], part[2]
    grid, pointer = "<<<(n + 127) / 128, 128>>>", "data_ptr<float>()"
    arguments = f"{now}{pointer}, {following}{pointer}"
    most = f"most.{pointer}"
    launches = f"        spread{grid}({arguments}, {f'{most}, ' if fused else ''}n);\n"
    if not fused:
        launches += f"        greatest{grid}({arguments}, {most}, n);\n"
    return HEAD + (ONE if fused else TWO) + before + launches + rest


def drafted(folder: Path, text: str) -> Draft:
    path = folder / "relax.cu"
    path.write_text(text)
    return draft_of(target_of(path, "relax"), path, measure=False)


def is_right(folder: Path, before: str, after: str) -> bool | None:
    """Whether the check passes; None where the function after the change cannot be followed."""
    workload = drafted(folder, before).workload()
    path = folder / "relax.cu"
    baseline = program_from_file(path, "relax", workload)
    try:
        candidate = program_from_file(
            path, "relax", workload, data=after.encode(), changed_from=before.encode()
        )
    except ProgramError:
        return None
    options = GateOptions(hidden=False, check_seconds=20)
    check = judge(baseline, candidate, workload, device="emulated", options=options).stage("check")
    assert check is not None
    return check.status is StageStatus.PASS


@pytest.mark.parametrize("host", [COPIED, HELD, IN_PLACE], ids=["copied", "held", "in place"])
def test_a_loop_in_which_tensors_change_places_is_gone_through_a_few_times(tmp_path: Path, host: str):
    draft = drafted(tmp_path, written(host, fused=False))
    assert not draft.missing
    rounds = next(a for a in draft.arguments if a.name == "rounds")
    assert (rounds.kind, rounds.value) == ("scalar", "3")
    heat = next(a for a in draft.arguments if a.name == "heat")
    assert (heat.kind, heat.shape) == ("inout" if host is IN_PLACE else "input", ("n",))
    assert not {"rounds"} & draft.dims.keys()
    assert not draft.promises


@pytest.mark.parametrize("host", [COPIED, HELD, IN_PLACE], ids=["copied", "held", "in place"])
def test_such_a_function_is_judged_by_the_tensor_that_comes_last(tmp_path: Path, host: str):
    before, after = (written(host, fused=fused) for fused in (False, True))
    assert is_right(tmp_path, before, after)
    assert not is_right(tmp_path, before, after.replace(CLEARS[host], ""))
    assert not is_right(tmp_path, before, after.replace("i < rounds", "i < rounds - 1"))
    last = "{*now, most}" if host is IN_PLACE else "{now, most}"
    assert not is_right(tmp_path, before, after.replace(last, last.replace("now", "next")))


def test_a_result_that_is_made_like_a_tensor_of_one_extent_has_one(tmp_path: Path):
    host = COPIED.replace("    TORCH_CHECK(heat.dim() == 1);\n", "").replace(
        "empty_like(heat)", "empty_like(now)"
    )
    draft = drafted(tmp_path, written(host, fused=False))
    assert not draft.missing
    assert [a.shape for a in draft.arguments if a.name in ("heat", "next")] == [("n",)] * 2
