"""Host code that decides from call to call whether it launches is noticed; what it asks of sizes is not."""

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.reasons import Reason
from kernel_gate.standing import Standing
from kernel_gate.workload import parse_workload
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.skipped_launches import skipped_launches
from workload_texts import workload_text

KERNEL = """
static std::map<const float*, float*> done;
struct Table { float* rows; int seen; bool dirty; };
__global__ void halve(const float* x, float* y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}
"""
FUNCTION = """
void halves(const float* x, float* y, int n, Table& table, cudaStream_t stream) {
    if (n == 0) return;
    const int blocks = (n + 127) / 128;
    HERE
    halve<<<blocks, 128, 0, stream>>>(x, y, n);
    table.seen++;
}
"""
KEPT = "static const float* last[4]; static int at = 0;"
TURN = " last[at++ % 4] = x;"
METHOD = """
class Halver {
  public:
    void run(const float* x, float* y, int n) {
        HERE
        halve<<<(n + 127) / 128, 128>>>(x, y, n);
        last_ = x;
    }
  private:
    const float* last_ = nullptr;
    int limit_ = 1 << 20;
};
"""
PYTHON = """
import torch
import triton
import triton.language as tl

_plans = {}
_LIMITS = {"rows": 4096}

class Plan:
    def __init__(self):
        self.calls, self.result = 0, None

def plan_of(n):
    plan = _plans.setdefault(n, Plan())
    plan.calls += 1
    return plan

@triton.jit
def halve(x, y, n, W: tl.constexpr):
    at = tl.program_id(0) * W + tl.arange(0, W)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 0.5, mask=at < n)

def halves(x):
    y = torch.empty_like(x)
    n = x.numel()
    HERE
    halve[(triton.cdiv(n, 128),)](x, y, n, W=128)
    return y
"""


def skipped(text: str, here: str) -> tuple[str, ...]:
    language = Language.TRITON if "triton" in text else Language.CUDA
    before, after = (read(text.replace("HERE", line).encode(), language) for line in ("", here))
    return skipped_launches(("halve",), before, after)


@pytest.mark.parametrize(
    ("text", "here", "condition"),
    [
        (FUNCTION, "if (table.seen > 8) return;", "table.seen > 8"),
        (FUNCTION, "static int calls = 0; if (calls++ > 8) return;", "calls++ > 8"),
        (FUNCTION, "if (getenv(\"BENCH\")) return;", 'getenv("BENCH")'),
        (FUNCTION, "static const float* last; bool same = x == last; if (same) return;", "same"),
        (FUNCTION, "for (int k = 0; k < 9; k++) if (k % 4 == 0)", "k % 4 == 0"),
        (FUNCTION, f"{KEPT} for (int s = 0; s < 4; ++s) if (last[s] == x) return;{TURN}", "last[s] == x"),
        (FUNCTION, f"{KEPT} while (at) {{ if (last[at--] == x) {{ drop(); return; }} }}{TURN}", "last[at--] == x"),
        (FUNCTION, "auto hit = done.find(x); if (hit != done.end()) return; done.emplace(x, y);", "hit != done.end()"),
        (METHOD, "if (x == last_) return;", "x == last_"),
        (PYTHON, "plan = plan_of(n)\n    if plan.calls > 8: return plan.result", "plan.calls > 8"),
        (PYTHON, "if x.data_ptr() in _plans: return _plans[x.data_ptr()]", "x.data_ptr() in _plans"),
    ],
)  # fmt: skip
def test_what_is_kept_from_call_to_call_decides(text: str, here: str, condition: str):
    kernels = KERNEL if "triton" not in text else ""
    assert skipped(kernels + text, here) == (condition,)


@pytest.mark.parametrize(
    ("text", "here"),
    [
        (FUNCTION, "if (n > 1 << 20) return;"),
        (FUNCTION, "Table own; own.dirty = n > 8; if (own.dirty) return;"),
        (FUNCTION, "static const int most = 8; if (n > most) return;"),
        (FUNCTION, "if (table.dirty) cudaMemsetAsync(table.rows, 0, n * 4, stream);"),
        (METHOD, "if (n > limit_) return;"),
        (FUNCTION, "int most[2] = {8, 9}; for (int s = 0; s < 2; ++s) if (n > most[s]) return;"),
        (FUNCTION, "std::vector<int> own; own.push_back(n); for (int k : own) if (k > 8) return;"),
        (FUNCTION, "for (int s = 0; s < 4; ++s) { if (n >> s) continue; touch(s); }"),
        (PYTHON, 'if n > _LIMITS["rows"]: return y'),
        (PYTHON, "key = (n, x.dtype)\n    if key == (0, None): return y"),
    ],
)
def test_what_is_asked_of_sizes_decides_nothing(text: str, here: str):
    kernels = KERNEL if "triton" not in text else ""
    assert skipped(kernels + text, here) == ()


def test_what_was_asked_before_is_no_change():
    text = (KERNEL + FUNCTION).replace("HERE", "if (table.seen > 8) return; HERE")
    assert skipped(text, "int unused = 0;") == ()


def test_a_candidate_that_launches_on_some_calls_is_undecided(tmp_path: Path):
    path = tmp_path / "halve.cu"
    before = (KERNEL + FUNCTION).replace("HERE", "")
    path.write_text(before)
    after = (KERNEL + FUNCTION).replace("HERE", "if (table.seen > 8) return;")
    workload = parse_workload(
        workload_text(
            "halve",
            "n = [5, 300]",
            'grid = ["ceil_div(n, 128)"]\nblock = [128]',
            "x: input float32 [n]",
            "y: output float32 [n]",
            "n: int32 = n",
        )
    )
    programs = [
        program_from_file(path, "halve", workload, data=text.encode(), changed_from=before.encode())
        for text in (before, after)
    ]
    verdict = judge(*programs, workload, device="emulated")
    assert (verdict.standing, verdict.code) == (Standing.UNDECIDED, Reason.LAUNCH_SKIPPED)
    assert "`table.seen > 8`" in verdict.reason
