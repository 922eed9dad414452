"""Variables of the device's code that host code fills: inputs of a draft that no launch gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft, DraftArgument

SMOOTH = """\
#define RADIUS 1
constexpr int TAPS = 2 * RADIUS + 1;
%s
__global__ void smooth(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int t = 0; t < 3; t++) { int j = i + t - 1; if (j >= 0 && j < n) sum += x[j] * %s; }
    y[i] = sum;
}
int main() {
    int n = 1000;
    float *x, *y, taps[3] = {1, 2, 1};
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpyToSymbol(weights, taps, sizeof(taps));
    smooth<<<(n + 127) / 128, 128>>>(y, x, n);
}
"""


def written(folder: Path, declared: str, read: str) -> Path:
    (folder / ".git").mkdir()
    (folder / "smooth.cu").write_text(SMOOTH % (declared, read))
    return folder / "smooth.cu"


def drafted(folder: Path, declared: str, read: str) -> Draft:
    path = written(folder, declared, read)
    return draft_of(kernel_of(path, "smooth"), path)


def filling(draft: Draft) -> list[DraftArgument]:
    return [a for a in draft.arguments if a.variable]


@pytest.mark.parametrize(
    ("declared", "read", "dtype", "shape"),
    [
        ("__constant__ float weights[TAPS];", "weights[t]", "float32", ("3",)),
        ("__device__ __constant__ float weights[2][TAPS];", "weights[1][t]", "float32", ("2", "3")),
        ("static __constant__ double weights[RADIUS + 2];", "weights[t]", "float64", ("3",)),
        ("__constant__ float weights[(2 * RADIUS + 1) * (RADIUS + 0)];", "weights[t]", "float32", ("3",)),
        ("__constant__ float bias, weights[3];", "(bias + weights[t])", "float32", ("3",)),
        ("__constant__ float4 weights;", "weights.x", "float32", ("4",)),
        ("__device__ float weights[TAPS];", "weights[t]", "float32", ("3",)),
        ("__constant__ float weights;", "weights", "float32", ("1",)),
        ("struct W { float a, b; }; __constant__ W weights;", "(weights.a - weights.b)", "float32", ("2",)),
        (
            "struct W { double t[TAPS]; double b; }; __constant__ W weights[2];",
            "weights[1].t[t]",
            "float64",
            ("2", "4"),
        ),
        (
            "typedef struct { float k[2][2]; } W; __device__ W weights;",
            "weights.k[1][t & 1]",
            "float32",
            ("4",),
        ),
        (
            "namespace a { __constant__ float weights[3]; } using namespace a;",
            "weights[t]",
            "float32",
            ("3",),
        ),
    ],
)
def test_a_variable_is_an_input(
    tmp_path: Path, declared: str, read: str, dtype: str, shape: tuple[str, ...]
) -> None:
    draft = drafted(tmp_path, declared, read)
    argument = next(a for a in filling(draft) if a.variable == "weights")
    assert (argument.kind, argument.dtype, argument.shape) == ("input", dtype, shape)
    assert "weights is filled before the launch, which does not give it" in draft.assumed
    assert [type(step).__name__ for step in draft.workload().steps][-1] == "LaunchStep"


@pytest.mark.parametrize(
    ("declared", "read"),
    [
        ("__constant__ float weights[3] = {1, 2, 1};", "weights[t]"),
        ("__constant__ float weights[3];", "0.5f"),
        ("extern __constant__ float weights[3]; __constant__ float others[1] = {1};", "others[0]"),
        ("__device__ float weights[3]; __device__ float kept[3];", "(kept[t] = t)"),
    ],
)
def test_other_variables_are_not(tmp_path: Path, declared: str, read: str) -> None:
    assert filling(drafted(tmp_path, declared, read)) == []


def test_a_kernel_that_is_given_no_buffer_has_no_draft_and_the_question_says_why(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / "decay.cu"
    path.write_text("""__device__ float field[64];
__global__ void decay(float by) { field[threadIdx.x] *= by; }
int main() { decay<<<1, 64>>>(0.5f); }
""")
    draft = draft_of(kernel_of(path, "decay"), path)
    assert draft.missing == (
        "what decay writes: no launch gives it a buffer, and variables of device code are not compared",
    )


def test_whole_numbers_keep_the_kernel_in_its_buffers(tmp_path: Path) -> None:
    draft = drafted(tmp_path, "__constant__ int weights[3];", "x[weights[t]]")
    assert [a.values for a in filling(draft)] == ["integers(0, n)"]
    assert draft.missing == ()


def test_a_parameter_of_its_name_stays_another_one(tmp_path: Path) -> None:
    draft = drafted(tmp_path, "__constant__ float y[3]; __device__ float at(int t) { return y[t]; }", "at(t)")
    assert [(a.name, a.variable) for a in filling(draft)] == [("y_variable", "y")]
    assert draft.workload().argument("y_variable") is not None


def test_a_number_of_rounds_is_below_a_dim(tmp_path: Path) -> None:
    draft = drafted(
        tmp_path, "__constant__ int weights;", "1.0f; for (int r = 0; r < weights; r++) sum *= 0.5f"
    )
    assert draft.missing == ()
    assert [a.values for a in filling(draft)] == ["integers(0, n)"]


def test_a_structure_stays_as_it_is_and_the_draft_says_so(tmp_path: Path) -> None:
    draft = drafted(tmp_path, "struct W { float a; int b; }; __constant__ W weights;", "weights.a")
    assert filling(draft) == []
    assert "weights holds zeros: what `W` is made of is not followed" in draft.assumed


FADE = """\
struct Image { int width; int height; float gain; double offset; long pitch; };
__constant__ Image image;
__global__ void fade(float* pixels) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < image.width && y < image.height) pixels[y * image.pitch + x] *= image.gain + image.offset;
}
int main() {
    int width = 100, height = 50, pitch = (width + 31) / 32 * 32;
    Image i%s;
    float* pixels;
    cudaMalloc(&pixels, height * pitch * sizeof(float));
    cudaMemcpyToSymbol(image, &i, sizeof(i));
    i.gain = 3;
    fade<<<dim3((width + 63) / 64, height), 64>>>(pixels);
}
"""


def faded(folder: Path, filled: str) -> Draft:
    (folder / ".git").mkdir()
    path = folder / "fade.cu"
    path.write_text(FADE % filled)
    return draft_of(kernel_of(path, "fade"), path)


def test_a_structure_that_host_code_copies_holds_its_words(tmp_path: Path) -> None:
    draft = faded(tmp_path, "{width, height, 1.0f, 2.0, pitch}")
    (image,) = filling(draft)
    assert draft.missing == ()
    words = "width, height, 1065353216, 0, 0, 1073741824, ceil_div(width, 32) * 32, 0"
    assert (image.dtype, image.shape, image.values) == ("int32", ("8",), f"listed({words})")


def test_a_kernel_that_writes_nothing_with_zeros_leaves_them_open(tmp_path: Path) -> None:
    draft = faded(tmp_path, " = read_image()")
    assert draft.missing == ("what image holds: with zeros there the kernel writes nothing",)


@pytest.mark.long
def test_the_draft_sees_a_kernel_that_takes_another_element(tmp_path: Path) -> None:
    path = written(tmp_path, "__constant__ float weights[TAPS];", "weights[t]")
    draft, proof = tried_draft(kernel_of(path, "smooth"), path, kinds=("wrong_operator",))
    assert draft.missing == ()
    assert proof is not None
    assert proof.baseline == ""
    assert [tried.fate for tried in proof.tried] == ["killed"] * len(proof.tried)
