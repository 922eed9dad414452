"""What a draft takes from a CUDA C++ file: launch, roles, shapes, sizes; and what it says of what is not told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.checked_sizes import with_checked_sizes
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.model import Draft, DraftArgument
from kernel_lineage.workloads.of_state import State, draft_for
from kernel_lineage.workloads.preprocessed import active_text
from kernel_texts import kernel_in_text

FILE = """\
#define ENABLE_HALF
#if defined(ENABLE_HALF)
typedef half real;
#else
typedef float real;
#endif

__global__ void embed(real* out, const int* tokens, const real* table, float* seen, float scale, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C) {
        out[i] = table[tokens[i / C] * C + i % C];
        seen[i / C] += scale;
    }
}

void embed1(real* out, const int* tokens, const real* table, float* seen, int B, int T, int C, const int block_size) {
    const int N = B * T;
    const int grid_size = (N * C + block_size - 1) / block_size;
    embed<<<grid_size, block_size, block_size * sizeof(real)>>>(out, tokens, table, seen, 1.0f / sqrtf(C), N, C);
}

void embed_any(int which, real* out, const int* tokens, const real* table, float* seen, int B, int T, int C, int b) {
    switch (which) {
        case 1: embed1(out, tokens, table, seen, B, T, C, b); break;
    }
}

int* make_random_int(int count, int below) {
    int* made = (int*)malloc(count * sizeof(int));
    for (int i = 0; i < count; i++) made[i] = rand() % below;
    return made;
}

int main() {
    int B = 8;
    int T = 1024;
    int C = 768;
    int V = 50257;
    int block_sizes[] = {32, 64, 128, 256};
    int* host = make_random_int(B * T, V);
    real* d_out;
    int* d_tokens;
    real* d_table;
    float* d_seen;
    cudaMalloc(&d_out, B * T * C * sizeof(real));
    cudaMalloc((void**)&d_tokens, B * T * sizeof(int));
    cudaMalloc(&d_table, V * C * sizeof(real));
    cudaMalloc(&d_seen, B * T * sizeof(float));
    cudaMemcpy(d_tokens, host, B * T * sizeof(int), cudaMemcpyHostToDevice);
    for (int j = 0; j < 4; j++) {
        int block_size = block_sizes[j];
        embed_any(1, d_out, d_tokens, d_table, d_seen, B, T, C, block_size);
    }
}
"""


def drafted(code: str, kernel: str) -> Draft:
    kernel_source = kernel_in_text(code, kernel)
    return draft_of(kernel_source, Path("embed.cu"))


def test_a_whole_program_gives_a_workload_with_nothing_missing() -> None:
    draft = drafted(FILE, "embed")
    assert draft.missing == ()
    workload = draft.workload()
    assert dict(draft.dims) == {"B": 8, "T": 1024, "C": 768, "V": 50257}
    assert workload.profile_dims == ({"B": 8, "T": 1024, "C": 768, "V": 50257},)
    kinds = {a.name: (a.kind, a.dtype, a.shape) for a in workload.args if a.is_pointer}
    assert kinds == {
        "out": ("output", "float16", ("B", "T", "C")),
        "tokens": ("input", "int32", ("B", "T")),
        "table": ("input", "float16", ("V", "C")),
        "seen": ("inout", "float32", ("B", "T")),
    }
    tokens = workload.argument("tokens")
    assert tokens is not None
    assert tokens.values == "integers(0, V)"


def test_scalars_and_launch_are_expressions_over_the_sizes() -> None:
    workload = drafted(FILE, "embed").workload()
    values = {a.name: a.value for a in workload.args if not a.is_pointer}
    assert values == {"scale": "1.0 / C ** 0.5", "N": "B * T", "C": "C"}
    assert workload.launch.block == ("128",)
    assert workload.launch.shared_bytes == "256"
    assert workload.launch.grid == ("ceil_div(B * T * C, 128)",)


@pytest.mark.parametrize(
    ("added", "block"),
    [
        ("    block_size = 32;\n", "32"),
        ("    if (C > 64) { block_size = 32; }\n", "32"),
        ("    if (C > 6400) { block_size = 32; }\n", "128"),
        ("    block_size = block_size / 2;\n", "64"),
    ],
    ids=["whatever the caller gave", "in a branch", "in a branch that is not taken", "from itself"],
)
def test_a_parameter_that_the_launcher_sets_itself_has_that_value(added: str, block: str) -> None:
    text = FILE.replace("const int block_size) {\n", "int block_size) {\n" + added, 1)
    assert drafted(text, "embed").block == (block,)


def test_a_local_is_what_it_was_set_to_last_before_the_launch() -> None:
    text = FILE.replace(
        "    const int grid_size = (N * C + block_size - 1) / block_size;\n",
        "    int total = 3 * N * C;\n    int grid_size = total / block_size;\n    scale_all(out, grid_size);\n"
        "    total = N * C;\n    if (C > 6400) { total = 5; }\n    grid_size = total / block_size;\n",
    )
    text = text.replace("N, C);\n}\n\nvoid embed_any", "N, C);\n    grid_size = 7;\n}\n\nvoid embed_any")
    assert drafted(text, "embed").grid == ("B * T * C // 128",)


def test_a_local_of_the_block_around_the_launch_is_the_one() -> None:
    text = FILE.replace(
        "    const int grid_size = (N * C + block_size - 1) / block_size;\n    embed<<<",
        "    if (scaled) {\n        int grid_size = 3;\n        scale_all<<<grid_size, 32>>>(out);\n    }\n"
        "    for (int k = 0; k < 2; k++) {\n        int total = N * C;\n        int grid_size = total / block_size;\n"
        "        embed<<<",
    ).replace("sqrtf(C), N, C);\n}", "sqrtf(C), N, C);\n    }\n}")
    assert drafted(text, "embed").grid == ("B * T * C // 128",)


def test_sizes_are_followed_through_a_function_that_gets_the_launcher() -> None:
    text = FILE.replace(
        "void embed_any(",
        "template <class Launch>\n"
        "void around(real* o, const int* k, const real* t, float* s, int b, int l, int c, Launch launch, int n) {\n"
        "    launch(o, k, t, s, b, l, c, n);\n}\n\nvoid embed_any(",
    ).replace(
        "embed1(out, tokens, table, seen, B, T, C, b); break;",
        "around(out, tokens, table, seen, B, T, C, embed1, b); break;",
    )
    draft = drafted(text, "embed")
    assert draft.missing == ()
    assert dict(draft.dims) == {"B": 8, "T": 1024, "C": 768, "V": 50257}
    assert draft.block == ("128",)


@pytest.mark.parametrize(
    ("listed", "block"),
    [("32, 64, 128, 256", "128"), ("64, 512", "512"), ("4, 8, 16, 32", "16"), ("32", "32")],
)
def test_of_several_block_sizes_a_usual_one_is_taken(listed: str, block: str) -> None:
    assert drafted(FILE.replace("32, 64, 128, 256", listed), "embed").block == (block,)


CHECKED = FILE.replace("T, C, block_size);\n    }", "T, C, 64);\n    }")
TIMED = (
    "        float ms = time_it(100, embed_any, 1, d_out, d_tokens, d_table, d_seen, B, T, C, block_size);\n"
    '        printf("%d: %f", block_size, ms);\n    }\n}\n'
)


@pytest.mark.parametrize(
    ("text", "block", "several"),
    [
        (CHECKED, "64", ()),
        (CHECKED.replace("    }\n}\n", TIMED), "64", (64, 32, 128, 256)),
        (CHECKED.replace("C, 64)", "C, 96)").replace("    }\n}\n", TIMED), "128", (128, 32, 64, 256)),
        (
            CHECKED.replace("C, 64)", "C, 96)").replace("    }\n}\n", TIMED.replace("C, block", "block")),
            "96",
            (),
        ),
        (
            FILE.replace(
                "        embed_any(1, d_out, d_tokens, d_table, d_seen, B, T, C, block_size);\n    }\n}\n",
                TIMED,
            ),
            "128",
            (128, 32, 64, 256),
        ),
    ],
    ids=[
        "one call",
        "a benchmark goes through several",
        "the one of the check is none of them",
        "another number of arguments",
        "nothing but a benchmark",
    ],
)
def test_block_sizes_that_a_benchmark_is_handed_are_followed(
    text: str, block: str, several: tuple[int, ...]
) -> None:
    draft = drafted(text, "embed")
    assert draft.missing == () and dict(draft.dims) == {"B": 8, "T": 1024, "C": 768, "V": 50257}
    assert (draft.block, draft.blocks) == ((block,), several)
    assert draft.grid == (f"ceil_div(B * T * C, {block})",)


def test_a_buffer_that_is_cleared_before_the_launch_holds_zeros() -> None:
    cleared = FILE.replace(
        "    embed<<<grid_size,", "    cudaMemset(seen, 0, B * T * sizeof(float));\n    embed<<<grid_size,"
    )
    later = FILE.replace(
        "sqrtf(C), N, C);\n", "sqrtf(C), N, C);\n    cudaMemset(seen, 0, B * T * sizeof(float));\n"
    )
    for text, values in ((cleared, "integers(0, 1)"), (later, "normal"), (FILE, "normal")):
        seen = drafted(text, "embed").workload().argument("seen")
        assert seen is not None
        assert (seen.kind, seen.values) == ("inout", values)


CLEARED = (
    "    embed<<<grid_size,",
    "    cudaMemset(seen, 0, B * T * sizeof(float));\n    embed<<<grid_size,",
)
READ = (
    "block_size);\n    }\n}",
    "block_size);\n    }\n    cudaMemcpy(host, d_out, 4, cudaMemcpyDeviceToHost);\n}",
)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ((CLEARED, READ), "scratch"),
        ((READ,), "scratch"),
        (
            (READ, ("    }\n    cudaMemcpy(host", "    }\n    cudaFree(d_seen);\n    cudaMemcpy(host")),
            "scratch",
        ),
        ((READ, ("break;\n", "break;\n        case 2: embed2(seen); break;\n")), "scratch"),
        ((CLEARED,), "inout"),
        ((READ, ("    cudaMemcpy(host", "    check(d_seen);\n    cudaMemcpy(host")), "inout"),
        ((READ, ("    cudaMemcpy(host", "    float* more = d_seen + 1;\n    cudaMemcpy(host")), "inout"),
        (
            (READ, ("    for (int j", "    cudaMemset(d_seen, 0, B * T * sizeof(float));\n    for (int j")),
            "inout",
        ),
        ((READ, (CLEARED[0], CLEARED[1].replace("seen, 0", "seen, 255"))), "inout"),
        ((READ, ("N, C);\n}", "N, C);\n    count<<<1, 32>>>(seen, N);\n}")), "inout"),
        ((READ, ("break;\n", "embed2(seen); break;\n")), "inout"),
        ((READ, ("cudaMalloc(&d_seen, B * T * sizeof(float));", "d_seen = pool(B * T);")), "inout"),
    ],
    ids=[
        "cleared by the launcher",
        "never set",
        "freed",
        "handed to another launcher in its place",
        "no result is read",
        "read",
        "read under another name",
        "set once, for all launches",
        "set to other things than zeros",
        "handed to another kernel",
        "handed to another launcher after it",
        "made elsewhere",
    ],
)
def test_a_buffer_that_only_the_launch_itself_is_handed_is_a_workspace(changes, kind) -> None:
    text = FILE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (seen,) = (a for a in drafted(text, "embed").arguments if a.name == "seen")
    zeros = any("cudaMemset(seen, 0" in new for _, new in changes)
    assert (seen.kind, seen.values) == (kind, "integers(0, 1)" if zeros else "")


FILLING = FILE.replace(
    "const int grid_size = (N * C + block_size - 1) / block_size;",
    "const int grid_size = sms * (prop.maxThreadsPerMultiProcessor / block_size);",
)


@pytest.mark.parametrize(
    ("found_by", "named"),
    [
        ("int sms;\ncudaDeviceProp prop;\nvoid start() { sms = prop.multiProcessorCount; }\n\n", "sms"),
        ("cudaDeviceProp prop;\n", "prop.multiProcessorCount"),
        (
            "int sms;\nvoid start() { cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0); }\n\n",
            "sms",
        ),
    ],
    ids=["a variable of the file", "the property itself", "an attribute"],
)
@pytest.mark.parametrize("sms", [132, 84])
def test_a_grid_that_fills_the_device_does_so_where_it_is_timed(
    found_by: str, named: str, sms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_lineage.workloads.following.sizes.multiprocessors", lambda: sms)
    draft = drafted(found_by + FILLING.replace("sms *", f"{named} *"), "embed")
    assert draft.missing == ()
    assert draft.grid == ("multiProcessorCount * 16",)
    assert (draft.dims["multiProcessorCount"], draft.checked["multiProcessorCount"]) == (sms, 4)
    assert f"multiProcessorCount is {sms}: it depends on the device; checked with 4" in draft.assumed


def test_another_of_the_block_sizes_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "embed.cu").write_text(FILE)
    for wanted, taken in ((None, 128), (256, 256), (100, 128)):
        draft = draft_for(State(tmp_path, wanted), "embed.cu", "embed")
        assert isinstance(draft, Draft)
        assert draft.block == (str(taken),)
        assert draft.blocks[0] == taken and sorted(draft.blocks) == [32, 64, 128, 256]
        assert draft.grid == (f"ceil_div(B * T * C, {taken})",)


def test_checked_sizes_keep_promises_that_fewer_multiprocessors_break() -> None:
    buffer = DraftArgument("x", "inout", "float32", ("n",))
    dims = {"n": 3072, "multiProcessorCount": 132}
    promise = "not max(1, multiProcessorCount * 1024 // n) == 1"
    draft = Draft("k", Language.CUDA, "k.cu", dims, dims, (buffer,), ("1",), ("32",), promises=(promise,))
    checked = with_checked_sizes(draft).checked
    assert checked["multiProcessorCount"] < 132
    assert checked["multiProcessorCount"] * 1024 // checked["n"] > 1


def test_checked_sizes_are_the_files_own_halved() -> None:
    draft = drafted(FILE, "embed")
    assert draft.checked["B"] == 8
    assert 768 % draft.checked["C"] == 0
    assert draft.checked["C"] < 768
    assert any(s.startswith("C is 768 in main; checked with ") for s in draft.assumed)


@pytest.mark.parametrize(
    ("size", "kept"),
    [(50272, 32), (1600, 32), (768, 12), (640, 5)],
    ids=["vectors and warps", "a large odd factor", "twelve heads", "five heads"],
)
def test_a_checked_size_is_a_multiple_of_what_the_files_own_is(size: int, kept: int) -> None:
    text = FILE.replace("int V = 50257;", f"int V = {size};")
    checked = drafted(text, "embed").checked["V"]
    assert checked < size
    assert checked % kept == 0


def test_fewer_batches_are_checked_before_fewer_rows() -> None:
    text = FILE.replace("cudaMalloc(&d_out, B * T * C *", "cudaMalloc(&d_out, B * T * T * C *")
    checked = drafted(text, "embed").checked
    assert checked["B"] == 2
    assert checked["T"] >= 16


@pytest.mark.parametrize(
    ("gone", "there", "missing"),
    [
        ("    embed<<<grid_size, block_size,", "    embed<<<grids(), block_size,", "the launch's grid"),
        ("embed<<<", "other<<<", "embed is not launched in embed.cu"),
    ],
)
def test_what_the_file_does_not_tell_is_said_and_never_made_up(gone: str, there: str, missing: str) -> None:
    assert gone in FILE
    draft = drafted(FILE.replace(gone, there), "embed")
    assert any(missing in m for m in draft.missing), draft.missing
    assert any(line.startswith("# not found: ") and missing in line for line in draft.text.splitlines())
    with pytest.raises(WorkloadError, match="not complete"):
        draft.workload()


@pytest.mark.long
def test_a_size_that_the_user_of_a_program_gives_is_chosen(tmp_path: Path) -> None:
    draft = drafted(FILE.replace("int C = 768;", "int C = atoi(argv[1]);"), "embed")
    assert draft.chosen == ("C",)
    assert "C is chosen: nothing tells it" in draft.assumed


def test_a_range_that_nothing_tells_keeps_accesses_in_bounds() -> None:
    draft = drafted(FILE.replace("    int* host = make_random_int(B * T, V);\n", ""), "embed")
    values = {a.name: a.values for a in draft.arguments}
    assert values["tokens"] == "integers(0, V)"
    assert any(s.startswith("tokens is taken to hold numbers below V") for s in draft.assumed)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("#ifdef A\nx\n#else\ny\n#endif", "y"),
        ("#define A\n#ifdef A\nx\n#else\ny\n#endif", "#define A\nx"),
        ("#ifndef A\nx\n#endif", "x"),
        (
            "#define B\n#if defined(A)\nx\n#elif defined(B) && !defined(A)\ny\n#else\nz\n#endif",
            "#define B\ny",
        ),
        ("#if 0\nx\n#endif\ny", "y"),
        ("#if VERSION >= 12\nx\n#else\ny\n#endif", "y"),
        ("#define A 1\n#if A\nx\n#endif", "#define A 1\nx"),
        ("#define A 0\n#if !A && \\\n  UNKNOWN || A == 0\nx\n#endif", "#define A 0\nx"),
        ("#define A B\n#define B 12\n#if A < 12\nx\n#endif", "#define A B\n#define B 12"),
    ],
)
def test_only_what_the_file_itself_switches_on_is_read(text: str, kept: str) -> None:
    assert active_text(text) == kept


def test_a_buffer_that_a_header_writes_is_an_output(tmp_path: Path) -> None:
    (tmp_path / "store.cuh").write_text(
        "template <class T> __device__ void store(T* target, T value) { *target = value; }\n"
    )
    code = """#include "store.cuh"
__global__ void k(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(out + i, x[i]);
}
int main() {
    int n = 1000;
    float *out, *x;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    k<<<(n + 127) / 128, 128>>>(out, x, n);
}
"""
    (tmp_path / "k.cu").write_text(code)
    kernel = kernel_in_text(code, "k")
    draft = draft_of(kernel, tmp_path / "k.cu")
    assert [(a.name, a.kind) for a in draft.arguments[:2]] == [("out", "output"), ("x", "input")]


HANDED_ON = """\
struct Rows { float* at; };
__device__ Rows rows_of(float* p) { return Rows{p}; }
__global__ void k(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Rows rows = rows_of(out);
    if (i < n) *(rows.at + i) = x[i] + 1;
}
"""


def test_what_is_not_seen_to_be_written_is_told_by_a_run(tmp_path: Path) -> None:
    code = HANDED_ON + (
        "int main() {\n    int n = 1000;\n    float *out, *x;\n    cudaMalloc(&out, n * sizeof(float));\n"
        "    cudaMalloc(&x, n * sizeof(float));\n    k<<<(n + 127) / 128, 128>>>(out, x, n);\n}\n"
    )
    (tmp_path / "k.cu").write_text(code)
    kernel = kernel_in_text(code, "k")

    draft = draft_of(kernel, tmp_path / "k.cu")

    assert draft.missing == ()
    assert [(a.name, a.kind) for a in draft.arguments[:2]] == [("out", "output"), ("x", "input")]


@pytest.mark.parametrize(
    "store", ["__stcs(out + i, __ldcs(x + i))", "store_packed(out + i, load_packed(x + i))"]
)
def test_what_a_function_of_that_name_stores_is_written(tmp_path: Path, store: str) -> None:
    file = tmp_path / "copy.cu"
    file.write_text(
        "__global__ void copy(float* out, const float* x, int n) {\n"
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) {store};\n}}\n"
    )
    draft = draft_of(read(file.read_bytes(), Language.CUDA).kernels[0], file, measure=False)
    assert [(a.name, a.kind) for a in draft.arguments[:2]] == [("out", "output"), ("x", "input")]


def test_a_draft_by_reading_loads_no_stage_of_the_gate() -> None:
    asked = "import sys; import kernel_lineage.workloads.draft; print([m for m in sys.modules if '.stages.' in m])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
