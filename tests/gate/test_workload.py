"""Workloads: the file format, and what is said about a wrong one."""

import numpy as np
import pytest

from kernel_gate.dtype_names import FLOAT_NAMES, NAMES
from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import ExpressionError, evaluate, evaluate_int, names
from kernel_gate.value_kinds import values_kind
from kernel_gate.workload import WorkloadError, load_workload, parse_workload

RMSNORM = """
kernel   = "rmsnorm_forward"
language = "cuda"
source   = "rmsnorm.cu"
promises = ["C % 2 == 0"]

[dims]
N = [1, 333]
C = [768, 770]
[[profile_dims]]
N = 8192
C = 4096

[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
values = "normal"
[[args]]
name = "ids"
kind = "input"
dtype = "int32"
shape = ["N"]
values = "integers(0, C)"
[[args]]
name = "C"
kind = "scalar"
dtype = "int32"
value = "C"

[launch]
grid = ["ceil_div(N, 4)"]
block = [128]
shared_bytes = "4 * C"

[oracle]
python = "oracle.py:reference"

[tolerance]
reduction = "C"
"""


def test_a_workload_is_read(tmp_path):
    path = tmp_path / "rmsnorm.toml"
    path.write_text(RMSNORM)
    workload = load_workload(path)
    assert list(workload.shapes())[1] == {"N": 1, "C": 770}
    assert workload.extents(workload.args[0], {"N": 3, "C": 5}) == (3, 5)
    assert workload.args[2].values_spec == ("integers", ("0", "C"))
    assert workload.launch.spec().grid == ("ceil_div(N, 4)",)
    assert workload.keeps_promises({"N": 1, "C": 4}) and not workload.keeps_promises({"N": 1, "C": 5})
    assert workload.folder == tmp_path


@pytest.mark.parametrize(
    ("values", "spec"),
    [
        ("integers(0, min(N, max(C, 2)))", ("integers", ("0", "min(N, max(C, 2))"))),
        ("integers(max(-C, -(C - N)), (C + 1) * 2)", ("integers", ("max(-C, -(C - N))", "(C + 1) * 2"))),
        ("listed(1, 2, 3)", ("listed", ("1", "2", "3"))),
    ],
)
def test_commas_in_brackets_part_no_arguments_of_values(values, spec):
    assert values_kind(values) == spec


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('language = "cuda"', 'language = "hip"', "language"),
        ('kind = "output"', 'kind = "outptu"', "args[0].kind"),
        ('dtype = "float32"', 'dtype = "float31"', "args[0].dtype: 'float31' is not one of"),
        ('shape = ["N", "C"]', "", "args[0]: a buffer needs a shape"),
        ('value = "C"', "", "args[3]: a scalar needs a value"),
        ('values = "normal"', 'values = "gaussian"', "values = 'gaussian' is not one of"),
        ('values = "integers(0, C)"', 'values = "normal"', "int32 inputs need"),
        ('kind = "output"', 'kind = "input"', "none is an output"),
        ('name = "x"', 'name = "out"', "out is declared twice"),
        ("C = 4096", "D = 4096", "profile_dims[0]: must name exactly the dims N, C"),
        ("ceil_div(N, 4)", "ceil_div(M, 4)", "`M` is not known here; known names: C, N"),
        ("block = [128]", "blocks = [128]", "launch.blocks"),
        ("oracle.py:reference", "oracle.py", "oracle.python"),
        ("C = [768, 770]", "C = []", "dims.C: give at least one extent"),
        ("[dims]", "[dims", "is not valid TOML"),
    ],
)
def test_a_wrong_workload_is_refused_with_file_and_key(old, new, message):
    assert old in RMSNORM
    with pytest.raises(WorkloadError) as caught:
        parse_workload(RMSNORM.replace(old, new, 1), name="rmsnorm.toml")
    assert str(caught.value).startswith("rmsnorm.toml")
    assert message in str(caught.value)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(WorkloadError, match=r"none\.toml cannot be read: No such file"):
        load_workload(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil_div(N, 4)", 84),
        ("isqrt(C)", 27),
        ("exp(0) + tanh(0) + sin(0)", 1.0),
        ("log(exp(2)) * cos(0)", 2.0),
        ("inf", float("inf")),
        ("-inf", float("-inf")),
        ("next_power_of_2(C)", 1024),
        ("next_power_of_2(1)", 1),
        ("min(N, C) * 2 + -1", 665),
        ("C // 4 % 5", 2),
        ("1.0 / C", 1 / 770),
        ("32 if C > 512 and N != 1 else 4", 32),
        ("1 <= N < 4 or not C", False),
        ("2 ** 10", 1024),
        (7, 7),
    ],
)
def test_expressions(text, value):
    assert evaluate(text, {"N": 333, "C": 770}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "N.bit_length()",
        "[N]",
        "'a' * N",
        "N if",
        "2 ** 1000000",
        "N // 0",
        "lambda: 1",
        "M",
        "min()",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(ExpressionError):
        evaluate(text, {"N": 1})


def test_whole_numbers_are_asked_for():
    assert evaluate_int("4 / 2", {}) == 2
    with pytest.raises(ExpressionError, match="use // or ceil_div"):
        evaluate_int("N / 2", {"N": 3})


def test_a_name_of_cpp_that_python_keeps_for_itself_is_a_name():
    assert evaluate("(in + 31) // 32 if in > lambda else 0", {"in": 40, "lambda": 2}) == 2
    assert names("min(in, from) * is") == {"in", "from", "is"}
    with pytest.raises(ExpressionError):
        evaluate("in * 2", {"out": 1})


def test_names_of_an_expression():
    assert names("ceil_div(N, BLOCK) * min(C, 4)") == {"N", "BLOCK", "C"}


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_poison_is_nan_and_two_patterns_differ(name):
    dtype = DTYPES[name]
    a, b = dtype.poison(3, 0), dtype.poison(3, 1)
    assert np.isnan(dtype.wide(a)).all() and np.isnan(dtype.wide(b)).all()
    assert a.tobytes() != b.tobytes()


def test_bfloat16_rounds_to_nearest_even_and_keeps_specials():
    values = np.array([1.0, 1.00390625, 1.01171875, -np.inf, np.nan, 3.4e38, 1e39])
    wide = DTYPES["bfloat16"].wide(DTYPES["bfloat16"].narrow(values))
    assert wide[:4].tolist() == [1.0, 1.0, 1.015625, -np.inf]
    assert np.isnan(wide[4]) and np.isinf(wide[5]) and np.isinf(wide[6])


def test_the_names_that_workloads_may_use_are_those_of_the_types():
    assert tuple(DTYPES) == NAMES
    assert tuple(name for name, dtype in DTYPES.items() if dtype.is_float) == FLOAT_NAMES
