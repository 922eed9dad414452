"""Local memory that nothing has written: reported where its value is used, and only there."""

import re

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.emulated import launch as launching

KERNEL = """
__global__ void kernel(float* out, const float* x, int n, int k) {
    float held[8];
    for (int i = 0; i < n; i++) held[i * 3 & 7] = x[i]; // filled
    BODY
}
"""
USES = {
    "stored": "out[threadIdx.x] = held[k & 7]; // read",
    "computed with": "out[threadIdx.x] = 2.0f * held[k & 7] + 1.0f; // read",
    "an address": "out[threadIdx.x] = x[int(held[k & 7]) & 15]; // read",
    "a condition": "if (held[k & 7] > 0.0f) { out[threadIdx.x] = sinf(x[k]); __threadfence(); } // read",
    "of some threads": "if (threadIdx.x > 20) out[threadIdx.x] = held[k & 7]; // read",
}
UNUSED = {
    "selected away": "out[threadIdx.x] = n > 7 ? held[0] : 1.0f;",
    "read under a condition that never holds": "out[threadIdx.x] = k > 100 ? held[k & 7] : 1.0f;",
    "one side of a conjunction": "out[threadIdx.x] = n > 7 && held[0] > 1.0f ? 2.0f : 1.0f;",
    "only what is written": "float s = 0; for (int i = 0; i < n; i++) s += held[i * 3 & 7]; out[threadIdx.x] = s;",
    "copied within local memory": (
        "float t[8]; for (int i = 0; i < 8; i++) t[i ^ k & 7] = held[i]; out[threadIdx.x] = t[k & 7];"
    ),
}


def faults(body: str, n: int, k: int):
    x = np.arange(64, dtype=np.float32)
    source = KERNEL.replace("BODY", body)
    arguments = {"out": np.zeros(64, np.float32), "x": x, "n": np.int32(n), "k": np.int32(k)}
    return launch(source, arguments, block=64).faults, source


@pytest.mark.parametrize("body", USES.values(), ids=USES)
def test_a_value_that_nothing_wrote_is_reported_where_it_is_read(body):
    reported, source = faults(body, n=2, k=5)
    (fault,) = reported
    assert (fault.kind, fault.line) == ("uninitialised", line_of(source, "read"))
    assert re.match(r"uninitialised read of local memory at byte \d*[02468], which nothing", fault.message)
    assert fault.related[0].line == line_of(source, "read")
    assert fault.thread == ((21, 0, 0) if "20" in body else (0, 0, 0))


@pytest.mark.parametrize("body", USES.values(), ids=USES)
def test_a_value_that_was_written_is_not(body):
    assert faults(body, n=8, k=5)[0] == ()


@pytest.mark.parametrize("body", UNUSED.values(), ids=UNUSED)
def test_a_value_that_nothing_uses_is_not(body):
    assert faults(body, n=2, k=0)[0] == ()


def test_the_watchers_of_a_launch_serve_the_next_and_remember_nothing(monkeypatch):
    before = faults(USES["stored"], n=2, k=5)[0]
    made = []
    watched = launching.watched
    monkeypatch.setattr(launching, "watched", lambda *of: made.append(of) or watched(*of))
    assert faults(USES["stored"], n=8, k=5)[0] == ()
    assert faults(USES["stored"], n=2, k=5)[0] == before
    assert not made
