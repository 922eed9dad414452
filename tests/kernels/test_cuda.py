"""CUDA C++ source → kernels, launches, device functions."""

import pytest

from kernel_lineage.kernels import cuda
from kernel_lineage.kernels.cuda_nodes import descendants


def only(code: str):
    kernels = cuda.parse(code.encode()).kernels
    assert len(kernels) == 1, [k.name for k in kernels]
    return kernels[0]


HEADS = {
    "plain": "__global__ void k(int n) { }",
    "template": "template <typename T, int N = 4>\n__global__ void k(int n) { }",
    "two templates": "template <class A> template <class B> __global__ void k(int n) { }",
    "launch bounds after void": "__global__ void __launch_bounds__(256, 2) k(int n) { }",
    "launch bounds before void": "__global__ __launch_bounds__(BS) void k(int n) { }",
    "static": "static __global__ void k(int n) { }",
    "qualifier last": 'extern "C" void __global__ k(int n) { }',
    "extern C": 'extern "C" __global__ void k(int n) { }',
    "in extern C": 'extern "C" {\n__global__ void k(int n) { }\n}',
    "in namespaces": "namespace a { namespace b::c {\n__global__ void k(int n) { }\n} }",
    "anonymous namespace": "namespace {\n__global__ void k(int n) { }\n}",
    "macro before": "MY_ATTRIBUTE(3) __global__ void k(int n) { }",
    "macro as qualifier": "#define KERNEL __global__\nKERNEL void k(int n) { }",
    "macro as head": (
        "#define DEFINE(name, ...) template <__VA_ARGS__> __global__ void BOUNDS name(int n)\nDEFINE(k, bool A) { }"
    ),
    "directives in the head": "__global__ void\n#if A\n__launch_bounds__(64)\n#endif\nk(int n) { }",
    "cluster": "__global__ void __cluster_dims__(2, 1, 1) k(int n) { }",
    "declared before": "__global__ void k(int n);\n__global__ void k(int n) { }",
    "braces in strings": "__global__ void k(int n) { const char* s = \"}}{\"; char c = '}'; /* } */ }",
    "alternatives of #if in the body": "__global__ void k(int n) {\n#if A\nif (n) {\n#else\nif (!n) {\n#endif\n}\n}",
    "alternatives of #if in the head": (
        "#if A\n__global__ void k(int n) {\n#else\n__global__ void k(int n) {\n#endif\n}\n"
    ),
    "broken code before": "void f() { if (x) {\n\n__global__ void k(int n) { }",
    "half a parameter list before": "void f(int a, \n\n__global__ void k(int n) { }",
}


@pytest.mark.parametrize("code", HEADS.values(), ids=HEADS)
def test_a_kernel_is_found(code):
    kernel = only(code)
    assert kernel.name == "k"
    assert [(p.name, p.type) for p in kernel.parameters] == [("n", "int")]
    assert code.encode()[kernel.name_span.start : kernel.name_span.end] == b"k"
    assert kernel.text.endswith("}")
    assert kernel.node.type == "function_definition"
    assert code.encode()[kernel.body_span.start : kernel.body_span.end].startswith(b"{")
    assert kernel.source.kernel("k") is kernel


NOT_KERNELS = {
    "a declaration": "__global__ void k(int n);",
    "a comment": "// __global__ void k(int n) { }\n/* __global__ void k() {} */",
    "a string": 'const char* s = "__global__ void k() { }";',
    "a device function": "__device__ void k() { }",
    "nothing": "",
}


@pytest.mark.parametrize("code", NOT_KERNELS.values(), ids=NOT_KERNELS)
def test_what_is_no_kernel(code):
    assert cuda.parse(code.encode()).kernels == ()


PARAMETERS = [
    # as written → name, type, dtype, pointer, const, restrict
    ("float* x", "x", "float*", "float32", True, False, False),
    ("const float* __restrict__ x", "x", "const float* __restrict__", "float32", True, True, True),
    ("const __half *x", "x", "const __half *", "float16", True, True, False),
    ("__nv_bfloat16* const x", "x", "__nv_bfloat16* const", "bfloat16", True, False, False),
    ("float const *x", "x", "float const *", "float32", True, True, False),
    ("int x[4]", "x", "int [4]", "int32", True, False, False),
    ("const int N", "N", "const int", "int32", False, True, False),
    ("unsigned long long n", "n", "unsigned long long", "uint64", False, False, False),
    ("std::size_t n", "n", "std::size_t", "uint64", False, False, False),
    ("const T* x", "x", "const T*", None, True, True, False),
    ("floatX* x", "x", "floatX*", "float16", True, False, False),
    ("Params<int, 3> p", "p", "Params<int, 3>", None, False, False, False),
    ("float", "unnamed_0", "float", "float32", False, False, False),
    ("int half", "half", "int", "int32", False, False, False),
    ("const half", "unnamed_0", "const half", "float16", False, True, False),
    ("unsigned long", "unnamed_0", "unsigned long", "uint64", False, False, False),
    ("/* rows */ int n", "n", "int", "int32", False, False, False),
]


@pytest.mark.parametrize("row", PARAMETERS, ids=[r[0] for r in PARAMETERS])
def test_parameters(row):
    written, *expected = row
    p = only(f"typedef half floatX;\n__global__ void k({written}) {{ }}").parameters[0]
    assert [p.name, p.type, p.dtype, p.pointer, p.const, p.restrict] == expected


def test_defaults_and_order():
    kernel = only("__global__ void k(float* a, dim3 d = dim3(1, 2), int n = 3) { }")
    assert [(p.name, p.default) for p in kernel.parameters] == [("a", None), ("d", "dim3(1, 2)"), ("n", "3")]


def test_a_name_with_two_meanings_has_no_dtype():
    code = (
        "#if A\ntypedef float floatX;\n#else\ntypedef half floatX;\n#endif\n__global__ void k(floatX* x) { }"
    )
    assert only(code).parameters[0].dtype is None


def test_template_parameters_and_attributes():
    kernel = only(
        "template <typename T, int N = 4, class... Rest>\n__global__ void __launch_bounds__(N * 32, 2) k(T* x) { }"
    )
    assert [(t.name, t.type, t.default) for t in kernel.template_parameters] == [
        ("T", None, None),
        ("N", "int", "4"),
        ("Rest...", None, None),
    ]
    assert kernel.attributes["launch_bounds"] == "N * 32, 2"


def test_a_template_may_take_a_function():
    kernel = only("template <typename T, T (*BY)(T, int), int N> __global__ void k(T* x) { }")
    assert [(t.name, t.type) for t in kernel.template_parameters] == [
        ("T", None),
        ("BY", "T (*)(T, int)"),
        ("N", "int"),
    ]


def test_a_macro_head_says_what_its_body_says():
    kernel = only(
        "#define DEFINE(name, ...) template <__VA_ARGS__> __global__ void name(int n)\nDEFINE(k, bool A) { }"
    )
    assert [(t.name, t.type) for t in kernel.template_parameters] == [("A", "bool")]


def test_what_an_extern_c_block_holds_has_that_linkage():
    kernels = cuda.parse(
        b'extern "C" { __global__ void a() { } __global__ void b() { } } __global__ void c() { }'
    ).kernels
    assert [k.attributes.get("extern_c") for k in kernels] == ["true", "true", None]


def test_the_comment_directly_above():
    code = "// far away\n\n/* one row\n * per warp */\n// faster\n__global__ void k() { }"
    assert only(code).comment == "one row\nper warp\nfaster"


def test_device_functions_are_reached_through_each_other():
    code = (
        "__device__ float a(float x) { return x; }\n__device__ float b(float x) { return a(x); }\n"
        "__device__ float unused() { return 0; }\n__global__ void k(float* x) { x[0] = b(x[0]); }"
    )
    source = cuda.parse(code.encode())
    assert source.kernels[0].device_functions == ("a", "b")
    assert [f.name for f in source.device_functions] == ["a", "b", "unused"]


def test_kernels_of_one_name_stay_apart():
    code = "__global__ void k(int* x) { x[0] = 1; }\n__global__ void k(float* x) { x[0] = 2; }"
    kernels = cuda.parse(code.encode()).kernels
    assert [k.parameters[0].dtype for k in kernels] == ["int32", "float32"]
    assert kernels[0].node.start_byte < kernels[1].node.start_byte


def test_an_unclosed_kernel_is_a_problem_and_the_next_one_is_read():
    source = cuda.parse(b"__global__ void a(int n) { if (n) {\n\n__global__ void b(int n) { }")
    assert [k.name for k in source.kernels] == ["a", "b"]
    assert "`a` is not closed" in source.problems[0].message


def test_descendants_come_in_the_order_of_the_text_outer_before_inner():
    kernel = only("__global__ void k(float* x) { if (x) { x[0] = 1; x[1] = 2; } x[2] = 3; }")
    nodes = list(descendants(kernel.node))
    places = [(n.start_byte, -n.end_byte) for n in nodes]
    assert nodes[0] == kernel.node and places == sorted(places)
    assert [n.text.decode() for n in nodes if n.type == "subscript_expression"] == ["x[0]", "x[1]", "x[2]"]
    assert {n.parent for n in nodes[1:]} <= set(nodes)
