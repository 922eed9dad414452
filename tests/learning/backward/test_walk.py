"""The backward walk: what is taken off, what must stay, what an assist makes again, and how it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_lineage.cli.main import main
from workload_texts import workload_text

EXPERT = """\
#define TILE 32

__global__ void __launch_bounds__(1024) turn(float* __restrict__ out, const float* __restrict__ x, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    if (row < n && col < n) {
        tile[threadIdx.y][threadIdx.x] = x[row * n + col];
    }
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    if (row < n && col < n) {
        out[row * n + col] = tile[threadIdx.x][threadIdx.y];
    }
}
"""
PLAIN = """\
__global__ void turn(float* out, const float* x, int n) {
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    if (row < n && col < n) {
        out[row * n + col] = x[col * n + row];
    }
}
"""
WORKLOAD = workload_text(
    "turn",
    "n = [16, 37]",
    'grid = ["ceil_div(n, 32)", "ceil_div(n, 32)"]\nblock = [32, 32]',
    "out: output float32 [n, n]",
    "x: input float32 [n, n]",
    "n: int32 = n",
    source="turn.cu",
)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict:
    top = tmp_path_factory.mktemp("walk")
    (top / "turn.cu").write_text(EXPERT)
    (top / "turn.toml").write_text(WORKLOAD)
    ran = run(top, "--json")
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)


def run(top: Path, *arguments: str):
    command = [
        "walk",
        f"{top / 'turn.cu'}:turn",
        "--workload",
        str(top / "turn.toml"),
        "--device",
        "emulated",
    ]
    return CliRunner().invoke(main, [*command, *arguments])


@pytest.mark.long
def test_every_mechanism_that_can_be_taken_off_is(document):
    assert {step["taken_off"] for step in document["steps"]} == {
        "drop_launch_bounds",
        "drop_restrict",
        "unpad_shared_tile",
    }
    assert document["ended"] == "no simplification has anything left to take off"
    simplest = document["sources"]["walk:turn:0"]
    assert not any(word in simplest for word in ("__restrict__", "__launch_bounds__", "TILE + 1"))
    # The last version is the expert's device code; the line directives are the gate's.
    code = [line for line in document["sources"]["walk:turn:3"].splitlines() if not line.startswith("#line")]
    assert [line for line in code if line] == [line for line in EXPERT.splitlines() if line]


def test_it_is_a_lineage_like_a_mined_one_and_says_that_it_was_walked(document):
    lineage = document["lineage"]
    assert len(lineage["versions"]) == len(lineage["transitions"]) + 1
    assert {t["kind"] for t in lineage["transitions"]} == {"backward"}
    added = [m for t in lineage["transitions"] for m in t["mechanisms"]["added"]]
    assert sorted(added) == ["bank_conflict_padding", "launch_bounds", "restrict_read_only"]
    # The emulated device counts what the padding is for.
    (padded,) = [s for s in document["steps"] if s["taken_off"] == "unpad_shared_tile"]
    assert any("wavefronts per shared request" in count for count in padded["counts"])


def test_each_step_forward_is_made_again_by_a_skill_and_is_right(document):
    made = {s["taken_off"]: (s["forward_by"], s["forward"]) for s in document["steps"]}
    assert made["unpad_shared_tile"] == ("shared-tile-padding", "right")
    assert made["drop_restrict"] == ("restrict-const-pointers", "right")


def test_a_kernel_with_nothing_to_take_off_is_an_exit_code_of_its_own(tmp_path):
    (tmp_path / "turn.cu").write_text(PLAIN)
    (tmp_path / "turn.toml").write_text(WORKLOAD)
    ran = run(tmp_path)
    assert ran.exit_code == 6
    assert "0 steps back on emulated: no simplification has anything left to take off." in ran.stdout


def test_a_kernel_that_is_wrong_itself_is_said_so(tmp_path):
    (tmp_path / "turn.cu").write_text(PLAIN.replace("out[row * n + col]", "out[col]"))
    (tmp_path / "turn.toml").write_text(WORKLOAD)
    ran = run(tmp_path)
    assert ran.exit_code == 6
    assert "0 steps back on emulated: turn does not pass by itself: check:" in ran.stdout


def test_a_kernel_that_is_not_there_is_wrong_use(tmp_path):
    (tmp_path / "turn.cu").write_text("__global__ void other(float* out) {}\n")
    (tmp_path / "turn.toml").write_text(WORKLOAD)
    ran = run(tmp_path)
    assert ran.exit_code == 2
    assert "no kernel `turn`" in ran.stderr


SUMS = """\
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

__global__ void sums(float* out, const float* x, int n) {
    namespace cg = cooperative_groups;
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < n / 4; i += warp.size()) {
        float4 v = *reinterpret_cast<const float4*>(&x[blockIdx.x * n + 4 * i]);
        sum += v.x + v.y + v.z + v.w;
    }
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    if (warp.thread_rank() == 0) {
        out[blockIdx.x] = sum;
    }
}
"""
ROWS = """\
kernel = "sums"
language = "cuda"
source = "sums.cu"
promises = ["n % 4 == 0"]
[dims]
N = [3]
n = [64, 132]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "n"]
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[launch]
grid = ["N"]
block = [32]
"""


@pytest.mark.long
def test_groups_vectors_shuffles_and_the_sharing_out_of_a_row_are_taken_off(tmp_path):
    (tmp_path / "sums.cu").write_text(SUMS)
    (tmp_path / "sums.toml").write_text(ROWS)
    command = ["walk", f"{tmp_path / 'sums.cu'}:sums", "--workload", str(tmp_path / "sums.toml")]
    ran = CliRunner().invoke(main, [*command, "--device", "emulated", "--json"])
    assert ran.exit_code == 0, ran.stderr
    document = json.loads(ran.stdout)
    taken = [step["taken_off"] for step in document["steps"]][::-1]
    assert taken == ["plain_warp_groups", "reduce_in_each_lane", "scalar_access"]
    simplest = document["sources"]["walk:sums:0"].partition("void sums(")[2]
    assert not any(word in simplest for word in ("cg::", "__shfl", "reduced_by_plus", "reinterpret_cast"))
    assert "for (int i = 0; i < n / 4; i += 1)" in simplest


@pytest.mark.long
def test_a_simpler_kernel_that_races_is_no_step(tmp_path):
    """Each lane reads what the others of its warp have stored: the shuffles kept them together."""
    racing = SUMS.replace(
        "    float sum = 0.0f;", "    out[warp.thread_rank()] = x[warp.thread_rank()];\n    float sum = 0.0f;"
    )
    racing = racing.replace(
        "float4 v = *reinterpret_cast<const float4*>(&x[blockIdx.x * n + 4 * i]);", "float v = out[i];"
    )
    racing = (
        racing.replace("v.x + v.y + v.z + v.w", "v")
        .replace("n / 4", "32")
        .replace("out[blockIdx.x] =", "out[32] =")
    )
    (tmp_path / "sums.cu").write_text(racing)
    rows = (
        ROWS.replace('grid = ["N"]', "grid = [1]")
        .replace('shape = ["N"]', "shape = [33]")
        .replace("N = [3]", "N = [1]")
    )
    (tmp_path / "sums.toml").write_text(rows)
    command = ["walk", f"{tmp_path / 'sums.cu'}:sums", "--workload", str(tmp_path / "sums.toml")]
    ran = CliRunner().invoke(main, [*command, "--device", "emulated", "--json"])
    taken = [step["taken_off"] for step in json.loads(ran.stdout)["steps"]]
    assert "plain_warp_groups" in taken
    assert "reduce_in_each_lane" not in taken
