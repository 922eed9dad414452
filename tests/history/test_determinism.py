"""The same history gives the same bytes, whatever the order of reading, of workers and hashes, and their number."""

import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from history.repositories import NAIVE, Step, make_repository
from history.test_lineages import KERNEL, LAUNCH, TRITON, WARP, WRAPPER
from kernel_lineage.history import objects, workers
from kernel_lineage.history.document import mine_document
from kernel_lineage.history.mine import mine
from kernel_lineage.kernels import cuda_syntax
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language

HEADER = "__device__ float doubled(float x) {{ return {} * x; }}\n"
SHARED = '#include "math.cuh"\n' + KERNEL.replace("inp[row * C + c]", "doubled(inp[row * C + c])")
STEPS = [
    Step("begin", {"a.cu": SHARED, "math.cuh": HEADER.format(2), "k/01.cu": NAIVE, "ops/scale.py": TRITON}),
    Step(
        "warps",
        {"a.cu": SHARED + WARP.format(name="warp_rows") + LAUNCH.format(name="r", kernel="warp_rows")},
    ),
    Step("fix: factor", {"math.cuh": HEADER.format("2.0f"), "api/scale.py": WRAPPER}, parent=0),
    Step(
        "merge",
        {"a.cu": SHARED + WARP.format(name="warp_rows"), "math.cuh": HEADER.format("2.0f")},
        parent=1,
        merges=2,
    ),
    Step(
        "tile",
        {"b.cuh": WARP.format(name="rows_of_b").replace("32", "16"), "k/01.cu": None, "k/02.cu": NAIVE},
    ),
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("determinism")
    make_repository(folder, STEPS)
    return folder


def document(repository: Path, jobs: int = 1) -> str:
    return mine_document(mine(repository, use_cache=False, jobs=jobs)).model_dump_json(by_alias=True)


def test_the_order_of_what_is_read_and_analysed_changes_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = document(repository)
    assert '"rows_of_b"' in expected
    read, finish = objects.BlobReader.read, workers.Workers.finish
    order = random.Random(7)

    def shuffled_read(self: objects.BlobReader, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        wanted = list(ids)
        return read(self, order.sample(wanted, len(wanted)))

    def shuffled_finish(self: workers.Workers, keep):
        order.shuffle(self._waiting)
        finish(self, keep)

    monkeypatch.setattr(objects.BlobReader, "read", shuffled_read)
    monkeypatch.setattr(workers.Workers, "finish", shuffled_finish)
    assert [document(repository) == expected for _ in range(20)] == [True] * 20


def test_nodes_are_read_in_the_order_of_the_text():
    text = "".join(f"    x[{i}] = {i};\n" for i in range(8))
    source = read(f"__global__ void k(float* x) {{\n{text}}}\n".encode(), Language.CUDA)
    syntax = cuda_syntax.cuda_syntax(source.kernels[0])
    starts = [node.start_byte for node in syntax.entry.of("subscript_expression")]
    assert len(starts) == 8
    assert starts == sorted(starts)


def test_the_number_of_workers_changes_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch):
    expected = document(repository)
    monkeypatch.setattr(workers, "_IN_PROCESS_AT_MOST", 0)
    monkeypatch.setattr(workers, "_BATCH", 1)
    assert document(repository, jobs=2) == expected


@pytest.mark.parametrize("seed", ["1", "20"])
def test_the_order_of_hashes_changes_nothing(repository: Path, seed: str):
    code = "import sys; from kernel_lineage.cli.main import main; sys.argv[0] = 'klineage'; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "mine", str(repository), "--json", "--no-cache", "--jobs", "1"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    assert done.stdout.rstrip("\n") == document(repository)
