"""What `klineage optimise --write` leaves behind."""

from pathlib import Path

import pytest

from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.worker import Worker
from kernel_lineage.rewrite.optimise import session
from kernel_lineage.rewrite.optimise.document import OptimiseDocument
from kernel_lineage.rewrite.optimise.loop import Ended
from kernel_lineage.rewrite.optimise.search import Version
from kernel_lineage.rewrite.optimise.session import Asked, _kept, run
from kernel_lineage.skills.target import TargetError
from kernel_lineage.workloads.on_the_spot import NoWorkloadError


@pytest.mark.parametrize("launch", [{}, {"num_warps": "8"}], ids=["the text alone", "with its launch"])
def test_a_file_is_written_where_its_text_is_all_that_changes(tmp_path: Path, launch: dict[str, str]) -> None:
    path = tmp_path / "rows.py"
    path.write_text("before\n")
    verdict = Verdict(outcome=Outcome.ACCEPTED, code=None, reason="faster", stages=[], inputs_hash="")
    document = OptimiseDocument(
        path=str(path), kernel="rows", device="cuda", stopped="roofline", reason="Done.", timed=True,
        verdict=verdict, source_sha256="", seconds=1.0, device_seconds=1.0,
    )  # fmt: skip
    ended = Ended(document, Version(b"after\n", launch), {})

    kept = _kept(Asked(str(path), write=True), ended, path, tmp_path, b"before\n")

    assert kept.applied == (not launch)
    assert path.read_text() == ("before\n" if launch else "after\n")
    assert ("was left alone, because its launch changes" in kept.reason) == bool(launch)


TWO_KERNELS = """
__global__ void doubled(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
void launch(float* y, const float* x, int n) { doubled<<<(n + 127) / 128, 128>>>(y, x, n); }

struct Table;
__global__ void of_a_table(Table* table, float* y) { y[threadIdx.x] = 0.0f; }
"""


def _ended(search: session.Search) -> Ended:
    document = OptimiseDocument(
        path=str(search.path), kernel=search.name, device="emulated", stopped="nothing_admissible", reason="Done.",
        timed=False, source_sha256="", seconds=1.0, device_seconds=0.0,
    )  # fmt: skip
    return Ended(document, Version(search.text, {}), {})


@pytest.mark.long
def test_a_workload_is_drafted_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "two.cu"
    path.write_text(TWO_KERNELS)
    searched: list[session.Search] = []

    def optimise(search: session.Search, *_: object) -> Ended:
        searched.append(search)
        return _ended(search)

    monkeypatch.setattr(session, "optimise", optimise)
    lines: list[str] = []

    with Worker() as worker:
        documents = run(Asked(str(path), "emulated"), worker, say=lines.append)
        with pytest.raises(NoWorkloadError, match="of_a_table"):
            run(Asked(f"{path}:of_a_table", "emulated"), worker, say=lines.append)

    assert [d.kernel for d in documents] == ["doubled"]
    assert any(
        "in the drafted workload" in fact.evidence for fact in searched[0].kernels["doubled"].known.values()
    )
    assert any(line.startswith("doubled: no workload names it, so one is drafted") for line in lines)
    assert any(line.startswith("of_a_table: ") for line in lines)


IN_TURN = """
__global__ void scaled(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void positive(float* z, const float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = fmaxf(y[i], 0.0f);
}
void chain(float* z, const float* x, float a, int n) {
    float* y;
    cudaMalloc(&y, n * sizeof(float));
    scaled<<<(n + 255) / 256, 256>>>(y, x, a, n);
    positive<<<(n + 255) / 256, 256>>>(z, y, n);
    cudaFree(y);
}
int main() {
    int n = 1000;
    float *x, *z;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&z, n * sizeof(float));
    chain(z, x, 2.0f, n);
}
"""


@pytest.mark.long
def test_kernels_that_can_be_joined_are_judged_by_the_function_that_launches_them(tmp_path: Path) -> None:
    path = tmp_path / "chain.cu"
    path.write_text(IN_TURN)
    lines: list[str] = []

    with Worker() as worker:
        documents = run(Asked(str(path), "emulated"), worker, say=lines.append)

    (document,) = documents
    assert document.kernel == "scaled"
    assert document.promoted[0].skill == "joined-kernels"
    assert document.promoted[0].gain > 1.5
    assert document.tried[0] == document.promoted[0]
    assert "positive: its work is done by what has become of scaled" in lines


UNEVEN = IN_TURN.replace(
    "positive<<<(n + 255) / 256, 256>>>(z, y, n);", "positive<<<(n + 127) / 128, 128>>>(z, y, n);"
)


@pytest.mark.long
def test_a_host_function_is_searched_as_a_whole(tmp_path: Path) -> None:
    """Its launches differ in their blocks, so that they are not joined: each of its kernels is changed."""
    path = tmp_path / "chain.cu"
    path.write_text(UNEVEN)
    lines: list[str] = []

    with Worker() as worker:
        (document,) = run(Asked(f"{path}:chain", "emulated"), worker, say=lines.append)

    assert document.kernel == "chain"
    assert any(line.startswith("chain: no workload names it, so one is drafted") for line in lines)
    assert [t.skill for t in document.promoted][:2] == ["vectorised-row-access"] * 2
    assert document.patch is not None
    patch = Path(document.patch).read_text()
    assert "scaled<<<(((n + 255) / 256) + 3) / 4, 256>>>(y, x, a, n);" in patch
    assert "positive<<<(((n + 127) / 128) + 3) / 4, 128>>>(z, y, n);" in patch


def test_what_is_neither_a_kernel_nor_a_host_function_that_launches_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "chain.cu"
    path.write_text(IN_TURN.replace("int main() {", "int none() { return 0; }\nint main() {"))
    with Worker() as worker, pytest.raises(TargetError, match="no kernel `none`"):
        run(Asked(f"{path}:none", "emulated"), worker)
