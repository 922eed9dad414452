"""How many terms sums have: the same for every order of adding."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch
from kernel_gate.emulated.launch import Checks
from kernel_gate.emulated.terms import Terms
from kernel_gate.stages.depth import carried

ROW = "const float *x, float *y"
LOOP = f"""extern "C" __global__ void kernel({ROW}) {{
    float s = 0;
    for (int i = 0; i < 96; i++) s += x[i];
    y[threadIdx.x] = s;
}}"""
TREE = f"""extern "C" __global__ void kernel({ROW}) {{
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t] + x[t + 32] + x[t + 64];
    for (int step = 16; step; step /= 2) {{
        __syncthreads();
        if (t < step) s[t] += s[t + step];
    }}
    __syncthreads();
    y[t] = s[0];
}}"""
SHUFFLES = f"""extern "C" __global__ void kernel({ROW}) {{
    float v = x[threadIdx.x] + x[threadIdx.x + 32] + x[threadIdx.x + 64];
    for (int step = 16; step; step /= 2) v += __shfl_xor_sync(~0u, v, step);
    y[threadIdx.x] = v;
}}"""
ATOMICS = f"""extern "C" __global__ void kernel({ROW}) {{
    for (int i = threadIdx.x; i < 96; i += 32) atomicAdd(y, x[i]);
}}"""
SQUARES = f"""extern "C" __global__ void kernel({ROW}) {{
    float m = 0, v = 0;
    for (int i = 0; i < 96; i++) m += x[i];
    m /= 96;
    for (int i = 0; i < 96; i++) v += (x[i] - m) * (x[i] - m);
    y[threadIdx.x] = v * rsqrtf(v) * 3.0f;
}}"""
EACH = f"""extern "C" __global__ void kernel({ROW}) {{
    int t = threadIdx.x;
    y[t] = fmaxf(x[t] * 2.0f, x[t + 1]) + 1.0f;
}}"""


@pytest.mark.parametrize(
    ("source", "least", "most"),
    [(LOOP, 96, 97), (TREE, 96, 96), (SHUFFLES, 96, 96), (ATOMICS, 96, 97), (SQUARES, 96, 98), (EACH, 1, 2)],
    ids=["loop", "tree", "shuffles", "atomics", "squares", "each"],
)
def test_the_terms_of_a_sum(source: str, least: int, most: int):
    terms = Terms()
    x = np.random.default_rng(1).standard_normal(128).astype(np.float32)
    done = launch(source, {"x": x, "y": np.zeros(32, np.float32)}, checks=Checks(terms=terms))
    assert not done.faults
    assert least <= terms.most <= most


def test_terms_are_carried_to_other_shapes_by_the_dims_that_they_grow_with():
    at = [({"N": 2, "C": 32}, 33), ({"N": 8, "C": 64}, 65)]
    assert 4096 <= carried(at, {"N": 100, "C": 4096}) <= 4300
    both = [({"N": 2, "C": 32}, 64), ({"N": 8, "C": 64}, 512)]
    assert carried(both, {"N": 100, "C": 4096}) == 409600
    assert carried([({"N": 2, "C": 32}, 1), ({"N": 8, "C": 64}, 1)], {"N": 9, "C": 4096}) == 1
