"""Mechanisms and anchors on code that is broken, cut off or odd: less is seen, nothing raises."""

import random
from pathlib import Path

import pytest

from example_files import parts_in
from kernel_lineage.kernels import cuda, triton
from kernel_lineage.kernels.anchors.registry import anchors
from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.kernels.source import Language

PARSERS = {Language.CUDA: cuda.parse, Language.TRITON: triton.parse}

HERE = Path(__file__).parent
EXAMPLES = [
    (f"{part.owner}-{part.language}-{part.number}", part)
    for folder in ("spellings", "anchors/shown")
    for part in parts_in(HERE / folder)
    if part.number < 2
]
IDS = [name for name, _ in EXAMPLES]


def look(data, language):
    """Run every detector and every pattern by itself, so that none is covered by the registry's own care."""
    for kernel in PARSERS[language](data).kernels:
        for mechanism in mechanisms().values():
            if language in mechanism.languages:
                for site in mechanism.detect(kernel):
                    assert 0 <= site.span.start <= site.span.end <= len(data)
        for pattern in anchors().values():
            if language in pattern.languages:
                for anchor in pattern.find(kernel):
                    assert 0 <= anchor.span.start <= anchor.span.end <= len(data)


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=IDS)
def test_code_that_is_cut_off(name, example):
    data = example.code.encode()
    for end in range(len(data) // 3, len(data), 41):
        look(data[:end], example.language)


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=IDS)
def test_code_with_characters_lost_doubled_or_strewn_in(name, example):
    chance = random.Random(name)
    for _ in range(6):
        data = bytearray(example.code.encode())
        for _ in range(4):
            at = chance.randrange(len(data))
            match chance.randrange(3):
                case 0:
                    del data[at : at + chance.randrange(1, 9)]
                case 1:
                    data[at:at] = data[at : at + chance.randrange(1, 9)]
                case 2:
                    data[at:at] = chance.choice(
                        [b"(", b"}", b"[", b"<<<", b"= ", b"*", b'"', b"\xff", b"\n", b":"]
                    )
        look(bytes(data), example.language)


def test_nesting_beyond_all_measure_hides_nothing_else():
    deep = "1 + (threadIdx.x * " * 3000 + "1" + ")" * 3000
    data = f"""
    __global__ void odd(float* __restrict__ out, int n) {{
        int i = {deep};
        out[threadIdx.x * {deep}] = __expf(1.0f);
    }}
    """.encode()
    for kernel in cuda.parse(data).kernels:
        assert "restrict_read_only" in {site.mechanism for site in mechanisms_of(kernel)}


def test_variables_that_are_made_of_themselves():
    data = b"""
    __global__ void odd(float* out, int n) {
        int a = b, b = a, i = i + threadIdx.x;
        float* p = p + a;
        for (int k = k; k < n; k += k) { p[a + b + i] = out[k]; }
    }
    """
    look(data, Language.CUDA)
    look(
        b"""import triton
import triton.language as tl

@triton.jit
def odd(X, n):
    a = a + tl.program_id(0)
    b = a * b
    for a in range(a, n, a):
        b = b + a
        tl.store(X + a + b, tl.load(X + b))
""",
        Language.TRITON,
    )


def test_odd_calls_of_triton():
    look(
        b"""import triton
import triton.language as tl

@triton.jit
def odd(*args, **kwargs):
    tl.load()
    tl.store(*args)
    tl.load(mask=None)
    tl.arange()
    for i in args:
        tl.atomic_add(*args)
    for x, y in range(): pass
    for k in tl.range(num_stages=): pass
""",
        Language.TRITON,
    )
