"""Host code that is read, not run, by the trusted process: what it computes and how it nests is bounded."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from history.repositories import NAIVE
from kernel_lineage.cli.main import main
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads import files, preprocessed
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.preprocessed import active_text, with_headers

CUDA = """\
__global__ void k(float* x, int n) {{ int i = threadIdx.x; if (i < n) x[i] = 1; }}
{before}
void run(float* x, int n) {{
    {body}
    k<<<{grid}, 64>>>(x, n);
}}
"""
TRITON = """\
import itertools
import torch, triton
import triton.language as tl
@triton.jit
def k(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, 1.0, mask=i < n)
{before}
def run(n):
    x = torch.empty(n, device="cuda")
    {body}
    k[(1,)](x, n, B=64)
def test():
    run(64)
"""
DOUBLING = [f"m{i} = m{i - 1} + m{i - 1}" for i in range(1, 60)]
IN_CUDA = {
    "sums that double": {"body": "int m0 = n; " + "".join(f"int {line}; " for line in DOUBLING)},
    "a number that doubles": {"body": "int m0 = 3; " + "".join("m0 = m0 * m0; " for _ in range(60))},
    "a chain": {"body": "int m = " + "1+" * 3000 + "1;"},
    "brackets": {"body": "int m = " + "(" * 3000 + "1" + ")" * 3000 + ";"},
    "blocks": {"body": "{" * 3000 + "}" * 3000},
    "conditions": {"body": "if (n) " * 3000 + ";"},
    "members": {"body": "int m = x" + ".a" * 3000 + ";"},
    "templates": {"body": "A" + "<B" * 3000 + ">" * 3000 + " q;"},
    "a shift": {"body": "", "grid": "1 << 99999999999"},
    "launches": {"body": "k<<<1, 64>>>(x, n);\n" * 100},
    "constants": {
        "before": "".join(f"constexpr int c{i} = c{i + 1} + c{i + 1};\n" for i in range(60)),
        "grid": "c0",
    },
}
IN_TRITON = {
    "sums that double": {"body": "m0 = n; " + "; ".join(DOUBLING)},
    "a number that doubles": {"body": "m0 = 3; " + "; ".join(["m0 = m0 * m0"] * 60)},
    "lists that double": {"body": "m0 = [1, 2]; " + "; ".join(DOUBLING)},
    "texts that double": {"body": "m0 = 'ab'; " + "; ".join(DOUBLING)},
    "tuples in tuples": {"body": "m0 = (n, n); " + "; ".join(["m0 = (m0, m0)"] * 60)},
    "a list that grows": {"body": "m = [1]; " + "; ".join(["m = m * 1000"] * 6)},
    "a list": {"body": "m = [0] * 10**12"},
    "a list of a range": {"body": "m = list(range(10**12))"},
    "a range": {"body": "m = [n for j in range(10**12)]"},
    "a range of more than 64 bits": {"body": "m = len(range(10**30))"},
    "rounds": {"body": "\n    for j in range(10**12):\n        n = n + 1"},
    "rounds in rounds": {
        "body": "m = [a + b + c + d for a in range(999) for b in range(999) for c in range(999) for d in range(999)]"
    },
    "a product": {"body": "m = list(itertools.product(range(1000), repeat=5))"},
    "a shift": {"body": "m = 1 << 10**12"},
    "a power": {"body": "m = 9**9**9**9"},
    "functions that double": {
        "before": "".join(f"g{i} = lambda n: g{i + 1}(n) + g{i + 1}(n)\n" for i in range(60)),
        "body": "n = g0(n)",
    },
}


def _draft(folder: Path, name: str, text: str):
    (folder / ".git").mkdir()
    path = folder / name
    path.write_text(text)
    language = Language.TRITON if name.endswith(".py") else Language.CUDA
    (kernel,) = read(text.encode(), language).kernels
    return draft_of(kernel, path, measure=False)


@pytest.mark.parametrize("what", IN_CUDA)
def test_host_code_of_cuda_takes_no_more_than_is_read(tmp_path: Path, what: str):
    draft = _draft(tmp_path, "a.cu", CUDA.format(**{"before": "", "body": "", "grid": "1", **IN_CUDA[what]}))
    assert draft.missing and max(map(len, draft.missing)) < 10_000


@pytest.mark.parametrize("what", IN_TRITON)
def test_host_code_of_triton_takes_no_more_than_is_read(tmp_path: Path, what: str):
    draft = _draft(tmp_path, "a.py", TRITON.format(**{"before": "", "body": "", **IN_TRITON[what]}))
    assert draft.kernel == "k" and sum(map(len, draft.missing)) < 10_000


CONDITIONS = {
    "in one another": "#if 1\n" * 30_000,
    "a line that goes on": "#define A \\\n" + "x \\\n" * 200_000,
    "macros that double": "".join(f"#define A{i} " + " && ".join([f"A{i + 1}"] * 20) + "\n" for i in range(8))
    + "#define A8 1\n#if A0\n#endif\n",
    "a long macro": "#define A " + "1 && " * 50_000 + "1\n" + "#if A\n#endif\n" * 100,
}


@pytest.mark.parametrize("what", CONDITIONS)
def test_conditions_of_a_text_take_no_more_than_is_read(what: str):
    assert active_text(CONDITIONS[what] + "int last;\n").endswith("int last;")


def test_headers_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(8):
        (tmp_path / f"h{number}.h").write_text(f"int x{number};\n" + "// filled\n" * 100)
    path = tmp_path / "code.cu"
    path.write_text("".join(f'#include "h{number}.h"\n' for number in range(8)) + "int last;\n")
    assert all(f"int x{number};" in with_headers(path, tmp_path) for number in range(8))
    within = preprocessed._Texts(preprocessed.Headers(tmp_path), left=2500).of(path)
    assert "int x1;" in within and "int x2;" not in within and "int last;" in within
    monkeypatch.setattr(preprocessed, "_MOST_HEADERS", 3)
    named = with_headers(path, tmp_path)
    assert "int x2;" in named and "int x3;" not in named and "int last;" in named


def test_a_command_that_comes_upon_endless_nesting_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.cu").write_text(NAIVE)

    def nested(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(files, "target_of", nested)
    done = CliRunner().invoke(main, ["workload", "init", f"{tmp_path / 'a.cu'}:k"])
    assert done.exit_code == 4 and "nests deeper" in done.output
