"""What the source says of a kernel whose cases are all right: shown at the guilty line, with a fix that is checked."""

from __future__ import annotations

import pytest
from lsprotocol import types

from editor.test_check import Checked, editor

__all__ = ["editor"]
pytestmark = pytest.mark.asyncio(loop_scope="session")
ROWS = """\
__global__ void rows(float* out, const float* in, int B, int T, int C) {
    int row = blockIdx.x;
    int base = row * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x)
        out[base + i] = 2.0f * in[base + i];
}

int main() {
    int B = SIZE, T = 8192, C = 8192;
    float *out, *in;
    cudaMalloc(&out, (size_t)B * T * C * 4);
    cudaMalloc(&in, (size_t)B * T * C * 4);
    rows<<<B * T, 256>>>(out, in, B, T, C);
}
"""


async def ended_wrong(checked):
    """How the last part of a check ends: it is right until the source was asked."""
    states = []
    while (status := await checked.statuses.get()).state != "wrong":
        states.append(status.state)
        assert status.state in ("edited", "checking", "right", "unclear"), status.message
    assert states[-1] != "checking", "a case of the check sees it"
    return status


async def fixes(editor, uri, diagnostic):
    context = types.CodeActionContext(diagnostics=[diagnostic], only=["quickfix"])
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), diagnostic.range, context)
    return await editor.client.text_document_code_action_async(params)


@pytest.mark.long
async def test_an_index_that_overflows_at_the_callers_sizes_is_widened_by_a_quick_fix(tmp_path, editor):
    path = tmp_path / "rows.cu"
    path.write_text(ROWS.replace("SIZE", "64"))
    uri = editor.open(path)
    checked = Checked(editor, uri)
    assert "does not fit int32" in (await ended_wrong(checked)).message
    latest, *_ = (await editor.command("klineage.view", {"view": "runs"}))["nodes"]
    assert "does not fit int32" in latest["description"], (
        "what the proofs showed takes the place of what the cases said"
    )
    diagnostic, *others = checked.diagnostics  # the two accesses may each have an example of its own
    assert {d.code for d in (diagnostic, *others)} == {"address-overflow"}
    assert diagnostic.severity == types.DiagnosticSeverity.Warning
    assert diagnostic.range.start.line in (2, 4)  # the product, or the sum that it is in
    assert "Callers come with B <= 64, T <= 8192, C <= 8192" in diagnostic.message
    assert "is addressed by it" in diagnostic.related_information[0].message
    (action,) = await fixes(editor, uri, diagnostic)
    assert action.title == "Repair rows: widen the index, and check it"
    answer = await editor.command(action.command.command, *action.command.arguments)
    assert answer["outcome"] == "accepted", answer
    assert "long long base = (long long)row * C;" in answer["candidate"]
    assert "out[base + i]" in answer["candidate"], "what is wide already is not widened again"
    assert editor.edits == []
    assert (await editor.command("klineage.applyAccepted", {"job": answer["job"]}))["applied"]


@pytest.mark.long
async def test_what_the_source_showed_stays_marked_until_the_typing_rests(tmp_path, editor):
    path = tmp_path / "rows.cu"
    path.write_text(ROWS.replace("SIZE", "64"))
    uri = editor.open(path)
    checked = Checked(editor, uri)
    await ended_wrong(checked)
    editor.replace(uri, "row = blockIdx.x", "row = blockIdx.x + 0")  # neither the guilty line nor a cure
    status = await checked.ended()
    assert status.state == "unclear", status.message
    assert "before the last edit; it is asked again when the typing rests" in status.message
    diagnostic, *others = checked.diagnostics  # the two accesses may each have an example of its own
    assert {d.code for d in (diagnostic, *others)} == {"address-overflow"}
    assert diagnostic.severity == types.DiagnosticSeverity.Warning
    assert "before the last edit" in diagnostic.message
    await ended_wrong(checked)
    assert "before the last edit" not in checked.diagnostics[0].message
    editor.replace(uri, "int base = row * C", "long long base = (long long)row * C")
    while (await checked.ended()).state != "right":
        pass
    assert not checked.diagnostics


async def test_sizes_that_nobody_comes_with_are_a_hint_without_a_fix(tmp_path, editor):
    path = tmp_path / "rows.cu"
    path.write_text(ROWS.replace("SIZE", "1"))
    uri = editor.open(path)
    checked = Checked(editor, uri)
    assert (await checked.ended()).state == "right"
    place = {"uri": uri, "line": 0, "character": 0}
    assert (await editor.command("klineage.check", place))["state"] == "right"  # with its proofs
    shown = checked.diagnostics
    assert {d.severity for d in shown} == {types.DiagnosticSeverity.Hint}
    assert "larger than what callers come with: T <= 8192, C <= 8192" in shown[0].message
    assert not await fixes(editor, uri, shown[0])
    (rows,) = await editor.command("klineage.kernels", place)
    assert rows["state"] == "right"


TILED = """\
template <typename T>
__global__ void turned(T* out, const T* in, int rows, int cols) {
    __shared__ T tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < rows) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

void turn(float* out, const float* in, int rows, int cols) {
    turned<float><<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(out, in, rows, cols);
}
"""


@pytest.mark.long
async def test_a_guard_that_a_template_lacks_at_sizes_of_no_case_is_marked(tmp_path, editor):
    path = tmp_path / "turned.cu"
    path.write_text(TILED)
    uri = editor.open(path)
    checked = Checked(editor, uri)
    await ended_wrong(checked)
    # Beside it are hints of the sizes at which indices overflow.
    (diagnostic,) = [d for d in checked.diagnostics if d.severity != types.DiagnosticSeverity.Hint]
    assert (diagnostic.code, diagnostic.range.start.line) == ("out-of-bounds", 7)
    assert "a run has confirmed it" in diagnostic.message


GUARDED = """\
__global__ void twice(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * in[i];
}

void launch(float* out, const float* in, int n) {
    twice<<<(n + 255) / 256, 256>>>(out, in, n);
}
"""
EVEN = """\
kernel = "twice"
language = "cuda"
source = "twice.cu"
[dims]
n = [256, 1024]
[[profile_dims]]
n = 1024
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["n"]
[[args]]
name = "in"
kind = "input"
dtype = "float32"
shape = ["n"]
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[launch]
grid = ["ceil_div(n, 256)"]
block = [256]
"""


@pytest.mark.long
async def test_a_guard_that_fails_at_one_size_only_is_put_back(tmp_path, editor):
    folder = tmp_path / ".klineage" / "workloads"
    folder.mkdir(parents=True)
    (folder / "twice.toml").write_text(EVEN)
    path = tmp_path / "twice.cu"
    path.write_text(GUARDED)
    uri = editor.open(path)
    checked = Checked(editor, uri)
    assert (await checked.ended()).state == "right"
    editor.replace(uri, "i < n)", "i < n + (n * n == 603729))")
    await ended_wrong(checked)
    diagnostic = checked.diagnostics[0]
    assert (diagnostic.code, diagnostic.severity) == ("out-of-bounds", types.DiagnosticSeverity.Error)
    (action,) = await fixes(editor, uri, diagnostic)
    assert action.title == "Repair twice: guard the access, and check it"
    answer = await editor.command(action.command.command, *action.command.arguments)
    assert answer["outcome"] == "accepted", answer
    assert "if (i < n) out[i] = 2.0f * in[i];" in answer["candidate"]


SAXPY = """\
__global__ void saxpy(float* out, const float* x, const float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a * x[i] + y[i];
}

void launch(float* out, const float* x, const float* y, float a, int n) {
    saxpy<<<(n + 127) / 128, 128>>>(out, x, y, a, n);
}
"""


@pytest.mark.long
async def test_accesses_of_a_line_that_lack_one_guard_have_one_quick_fix_which_writes_it(tmp_path, editor):
    path = tmp_path / "saxpy.cu"
    path.write_text(SAXPY)
    uri = editor.open(path)
    checked = Checked(editor, uri)
    await ended_wrong(checked)
    shown = checked.diagnostics
    assert len(shown) > 1
    assert {(d.code, d.range.start.line) for d in shown} == {("out-of-bounds", 2)}
    context = types.CodeActionContext(diagnostics=shown, only=["quickfix"])
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), shown[0].range, context)
    (action,) = await editor.client.text_document_code_action_async(params)
    assert len(action.diagnostics) == len(shown)
    answer = await editor.command(action.command.command, *action.command.arguments)
    assert answer["outcome"] == "accepted", answer
    assert "if (i < n) out[i] = a * x[i] + y[i];" in answer["candidate"]
