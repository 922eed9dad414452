"""Python source → Triton kernels, launches, device functions."""

import textwrap

import pytest

from kernel_lineage.kernels import triton

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)
"""


def parse(code: str):
    return triton.parse(textwrap.dedent(code).encode())


DECORATED = {
    "triton.jit": "import triton\n@triton.jit\ndef k(x): pass",
    "called": "import triton\n@triton.jit(do_not_specialize=['n'])\ndef k(x): pass",
    "module alias": "import triton as t\n@t.jit\ndef k(x): pass",
    "imported": "from triton import jit\n@jit\ndef k(x): pass",
    "imported under another name": "from triton import jit as compiled\n@compiled\ndef k(x): pass",
    "autotuned": "import triton\n@triton.autotune(configs=[], key=['n'])\n@triton.jit\ndef k(x): pass",
    "wrapped": "import triton\ndef k(x): pass\nfast = triton.jit(k)",
    "assigned": "import triton\ncompiled = triton.jit\n@compiled\ndef k(x): pass",
    "the file's own decorator": "import triton\ndef own(f):\n    return triton.jit(f)\n@own\ndef k(x): pass",
    "own decorator with options": "import triton\ndef own(n):\n    def deco(f):\n        return triton.jit(f)\n    return deco\n@own(1)\ndef k(x): pass",  # noqa: E501
    "in a factory": "import triton\ndef make():\n    @triton.jit\n    def k(x): pass\n    return k",
    "broken code behind": "import triton\n@triton.jit\ndef k(x):\n    pass\n\ndef f(:\n    g(\n",
    "broken code before": "import triton\ndef f(a:\n    g(\n\n@triton.jit\ndef k(x):\n    pass\n",
    "broken itself": "import triton\n@triton.jit\ndef k(x):\n    y = tl.load(x +\n",
}


@pytest.mark.parametrize("code", DECORATED.values(), ids=DECORATED)
def test_a_kernel_is_found(code):
    source = parse(code)
    assert [k.name for k in source.kernels] == ["k"]
    (kernel,) = source.kernels
    assert [p.name for p in kernel.parameters] == ["x"]
    assert (kernel.function is None) == (kernel.node is not None)
    assert code.encode()[kernel.name_span.start : kernel.name_span.end] == b"k"


def test_other_jits_are_not_kernels():
    assert parse("import numba\n@numba.jit\ndef k(x): pass").kernels == ()


def test_parameters_say_what_is_a_pointer():
    kernel = parse(KERNEL).kernels[0]
    assert [(p.name, p.pointer, p.constexpr) for p in kernel.parameters] == [
        ("x_ptr", True, False),
        ("out_ptr", True, False),
        ("n", False, False),
        ("BLOCK", False, True),
    ]


def test_a_pointer_is_known_through_a_device_function():
    source = parse("""
        import triton
        import triton.language as tl
        @triton.jit
        def fetch(base, i):
            return tl.load(base + i)
        @triton.jit
        def k(a, stride, out):
            a += tl.program_id(0) * stride
            tl.store(out, fetch(a, 3))
    """)
    assert [p.name for p in source.kernels[0].parameters if p.pointer] == ["a", "out"]
    assert source.kernels[0].device_functions == ("fetch",)
    assert [f.name for f in source.device_functions] == ["fetch"]


def test_attributes_and_comment():
    kernel = parse("""
        import triton
        # one program per row
        @triton.autotune(configs=[triton.Config({"B": 64}, num_warps=4)], key=["n"])
        @triton.heuristics({"EVEN": lambda a: a["n"] % 64 == 0})
        @triton.jit
        def k(x): pass
    """).kernels[0]
    assert kernel.attributes == {
        "autotune": 'configs=[triton.Config({"B": 64}, num_warps=4)], key=["n"]',
        "heuristics": '{"EVEN": lambda a: a["n"] % 64 == 0}',
    }
    assert kernel.comment == "one program per row"
    assert kernel.text.startswith("@triton.autotune")


X = ("x", "y", "n")
SITES = {
    "plain": ("def f(x):\n    k[(4,)](x, y, n, BLOCK=64)", ("4",), (*X, "64"), "f"),
    "by keyword": ("def f(x):\n    k[(4,)](out_ptr=y, x_ptr=x, n=n, BLOCK=64)", ("4",), (*X, "64"), "f"),
    "grid lambda": (
        'def f(x):\n    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)\n    k[grid](x, y, n, BLOCK=64)',
        ("triton.cdiv(n, BLOCK)",),
        (*X, "64"),
        "f",
    ),
    "grid function": (
        'def f(x):\n    def grid(m):\n        return (m["BLOCK"], 2)\n    k[grid](x, y, n, BLOCK=64)',
        ("BLOCK", "2"),
        (*X, "64"),
        "f",
    ),
    "autograd": (
        "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        k[(4,)](x, y, n, 64)",
        ("4",),
        (*X, "64"),
        "F.forward",
    ),
    "run": ("def f(x):\n    k.run(x, y, n, BLOCK=64, grid=(4,), warmup=False)", ("4",), (*X, "64"), "f"),
    "wrapped": ("def f(x):\n    wrap_triton(k)[(4,)](x, y, n, BLOCK=64)", ("4",), (*X, "64"), "f"),
    "through a variable": ("def f(x):\n    g = k\n    g[(4,)](x, y, n, BLOCK=64)", ("4",), (*X, "64"), "f"),
    "from a factory": (
        "def make():\n    return k\ndef f(x):\n    make()[(4,)](x, y, n, BLOCK=64)",
        ("4",),
        (*X, "64"),
        "f",
    ),
    "star arguments": (
        "def f(x):\n    args = (x, y, n)\n    meta = dict(BLOCK=64)\n    k[(4,)](*args, **meta)",
        ("4",),
        (*X, "64"),
        "f",
    ),
    "autotuned argument left out": ("def f(x):\n    k[(4,)](x, y, n)", ("4",), (*X, ""), "f"),
    "at module level": ("k[(4,)](x, y, n, BLOCK=64)", ("4",), (*X, "64"), None),
}


@pytest.mark.parametrize(("code", "grid", "arguments", "launcher"), SITES.values(), ids=SITES)
def test_a_launch_is_found(code, grid, arguments, launcher):
    (launch,) = parse(KERNEL + code).launches
    assert (launch.kernel, launch.grid, launch.arguments, launch.launcher) == ("k", grid, arguments, launcher)


def test_what_a_launch_carries():
    (launch,) = parse(
        KERNEL + "def f(x):\n    rows, cols = x.shape\n    size = triton.next_power_of_2(cols)\n"
        "    k[(rows,)](x, y, cols, BLOCK=size, num_warps=8)"
    ).launches
    assert launch.options == {"BLOCK": "size", "num_warps": "8"}
    assert launch.definitions == {
        "rows": "x.shape[0]",
        "cols": "x.shape[1]",
        "size": "triton.next_power_of_2(cols)",
    }


def test_a_launch_of_an_imported_kernel_is_seen():
    source = parse("from kernels import other\ndef f(x, n):\n    other[(n,)](x, BLOCK=4)")
    assert [launch.kernel for launch in source.launches] == ["other"]


def test_indexing_and_calling_is_not_a_launch():
    assert parse(KERNEL + "table = {}\ndef f(x):\n    return table['a'](x)").launches == ()
