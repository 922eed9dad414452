"""Threads that each touch a span of their own are told apart without a question over two threads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_gate.expr.terms import Num, Var
from kernel_lineage.code.cuda.read import open_setting, read_cuda
from kernel_lineage.code.setting import LaunchSetting
from kernel_lineage.proofs.obligations.asking import Asked, Questions
from kernel_lineage.proofs.obligations.obligation import Status
from kernel_lineage.proofs.obligations.written_once import told_apart
from kernel_texts import kernel_in_text

THREAD = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows) "
OWN = [
    "out[i] = 0.0f;",
    "out[4 * i + 3] = 0.0f;",
    "for (int c = 0; c < columns; c++) out[i * columns + c] = 0.0f;",
    "for (int c = 1; c < columns; c += 2) out[i * columns + c - 1] = 0.0f;",
    "reinterpret_cast<float4*>(out)[i] = make_float4(0, 0, 0, 0);",
]
NOT_ITS_OWN = [
    "out[i / 2] = 0.0f;",
    "out[i * columns] = 0.0f;",
    "out[blockIdx.x + threadIdx.x] = 0.0f;",
    "out[2 * blockIdx.x * blockDim.x + threadIdx.x] = 0.0f;",
    "for (int c = 0; c <= columns; c++) out[i * columns + c] = 0.0f;",
    "for (int c = 0; c < columns; c++) out[i * columns + c - 1] = 0.0f;",
    "for (int c = 0; c < columns; c++) out[i * (columns - 1) + c] = 0.0f;",
    "*reinterpret_cast<float4*>(out + i) = make_float4(0, 0, 0, 0);",
    "out[order[i]] = 0.0f;",
]


def asked(body: str, monkeypatch: pytest.MonkeyPatch) -> Status:
    """What is known of a kernel's store without asking of two threads."""
    text = (
        f"__global__ void k(float* out, const int* order, int rows, int columns) {{ {THREAD} {{ {body} }} }}"
    )
    kernel = kernel_in_text(text, "k")
    one = Num(1)
    launch = LaunchSetting((Var("gridDim.x"), one, one), (Var("blockDim.x"), one, one))
    setting = replace(open_setting(kernel, ()), launch=launch)
    model = read_cuda(kernel, setting, {})
    store = next(a for a in model.accesses if a.writes)
    monkeypatch.setattr(Questions, "ask", lambda *_, **__: Asked(Status.UNDECIDED))
    return told_apart(Questions(model, setting), store, store).status


@pytest.mark.parametrize("body", OWN)
def test_a_thread_has_its_own_span(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(body, monkeypatch) is Status.PROVED


@pytest.mark.parametrize("body", NOT_ITS_OWN)
def test_two_threads_may_touch_one_element(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(body, monkeypatch) is Status.UNDECIDED
