"""Ways in which people launch a kernel and try it: each is read as far as the launch, with the sizes that it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.expressions import evaluate
from kernel_gate.program import LaunchStep, Value
from kernel_lineage.workloads.checked_sizes import with_checked_sizes
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import Draft, DraftArgument
from kernel_lineage.workloads.on_the_spot import question
from kernel_lineage.workloads.programs import ProgramError, program_from_file

KERNEL = """\
import functools
import itertools
import torch
import triton
import triton.language as tl


@triton.jit
def scale(out, x, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)

"""
DIRECT = """
def launch(x, factor):
    out = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 64),)](out, x, factor, x.numel(), BLOCK=64)
    return out
"""
TEST = "import torch\nfrom rows import launch\n\n\ndef test_it():\n    launch(torch.randn(6, 40), 2.0)\n"


def drafted(folder: Path, files: dict[str, str], kernel: str = "scale", path: str = "rows.py") -> Draft:
    (folder / ".git").mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return draft_of(kernel_of(folder / path, kernel), folder / path, measure=False)


def argument(draft: Draft, name: str) -> DraftArgument:
    return next(a for a in draft.arguments if a.name == name)


def sizes_of(draft: Draft, name: str) -> list[int]:
    """The extents of an argument at the sizes of its caller."""
    return [
        int(eval(extent, {"__builtins__": {}}, dict(draft.dims)))
        for extent in argument(draft, name).shape or ()
    ]


HANDED_ON = """
def run(kernel, grid, *args, **options):
    return kernel[grid](*args, **options)


def launch(x, factor):
    out = torch.empty_like(x)
    run(scale, (triton.cdiv(x.numel(), 64),), out, x, factor, x.numel(), BLOCK=64)
    return out
"""
IN_A_TABLE = """
KERNELS = {"scale": scale}


def launch(x, factor):
    out = torch.empty_like(x)
    KERNELS["scale"][(triton.cdiv(x.numel(), 64),)](out, x, factor, x.numel(), BLOCK=64)
    return out
"""
GENERATED = """
def parts(total, most):
    for start in range(0, total, most):
        yield start, min(most, total - start)


def launch(x, factor):
    out = torch.empty_like(x)
    for start, count in parts(x.shape[0], 4096):
        scale[(triton.cdiv(x.numel(), 64),)](out, x, factor, x.numel(), BLOCK=64)
    return out
"""
IN_A_BRANCH = """
def run(kernel, *args):
    kernel[(triton.cdiv(args[-1], 64),)](*args, BLOCK=64)


def launch(x, factor):
    out = torch.empty_like(x)
    if torch.cuda.get_device_name() == "another":
        out.copy_(x * factor)
    else:
        run(scale, out, x, factor, x.numel())
    return out
"""


@pytest.mark.parametrize("host", [HANDED_ON, IN_A_TABLE, GENERATED, IN_A_BRANCH])
def test_a_kernel_is_launched_through_something_else(tmp_path: Path, host: str) -> None:
    draft = drafted(tmp_path, {"rows.py": KERNEL + host, "tests/test_rows.py": TEST})
    assert not draft.missing
    assert sizes_of(draft, "x") == [6, 40]


def test_a_launch_in_a_module_that_imports_the_kernels_module_whole(tmp_path: Path) -> None:
    host = "import torch\nimport triton\nfrom kernels import rows as k\n\n" + HANDED_ON.replace(
        "scale,", "k.scale,"
    )
    files = {"kernels/__init__.py": "", "kernels/rows.py": KERNEL, "rows_ops.py": host}
    files["tests/test_rows.py"] = TEST.replace("from rows import", "from rows_ops import")
    draft = drafted(tmp_path, files, path="kernels/rows.py")
    assert not draft.missing
    assert sizes_of(draft, "x") == [6, 40]


CALLERS = {
    "a fixture that yields": (
        "import pytest\nimport torch\nfrom rows import launch\n\n\n"
        "@pytest.fixture(params=[(2, 3), (6, 40)])\ndef matrix(request):\n"
        "    rows, cols = request.param\n    yield torch.randn(rows, cols)\n\n\n"
        "def test_it(matrix):\n    launch(matrix, 2.0)\n"
    ),
    "what the class sets up": (
        "import unittest\nimport torch\nfrom rows import launch\n\n\nclass Rows(unittest.TestCase):\n"
        "    def setUp(self):\n        self.shapes = [(6, 40), (1, 9)]\n\n"
        "    def test_it(self):\n        for rows, cols in self.shapes:\n"
        "            launch(torch.randn(rows, cols), 2.0)\n"
    ),
    "cases over a class": (
        "import pytest\nimport torch\nfrom rows import launch\n\n\n"
        '@pytest.mark.parametrize("rows,cols", [(2, 3), (6, 40)])\nclass TestRows:\n'
        "    def test_it(self, rows, cols):\n        launch(torch.randn(rows, cols), 2.0)\n"
    ),
    "a module imported whole": (
        "import torch\nimport rows\n\n\ndef test_it():\n    rows.launch(torch.randn(6, 40), 2.0)\n"
    ),
    "a command line": (
        "import argparse\nimport torch\nfrom rows import launch\n\n\n"
        "def run(rows, cols):\n    launch(torch.randn(rows, cols), 2.0)\n\n\n"
        'if __name__ == "__main__":\n    parser = argparse.ArgumentParser()\n'
        '    parser.add_argument("--rows", type=int, default=6)\n'
        '    parser.add_argument("-c", "--n-cols", type=int, choices=[40, 80])\n'
        "    args = parser.parse_args()\n    run(args.rows, args.n_cols)\n"
    ),
}


@pytest.mark.parametrize("test", CALLERS.values(), ids=CALLERS)
def test_a_caller_says_its_sizes(tmp_path: Path, test: str) -> None:
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT, "tests/test_rows.py": test})
    assert not draft.missing
    assert sizes_of(draft, "x") == [6, 40]


MODEL = """
class {name}(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return launch(x, self.factor)
"""
INPUTS = """
rows = 6


def get_inputs():
    return [torch.rand(rows, 40)]


def get_init_inputs():
    return [2.0]
"""


@pytest.mark.parametrize("beside", [False, True])
def test_a_model_is_called_with_its_published_inputs(tmp_path: Path, beside: bool) -> None:
    model = KERNEL + DIRECT + MODEL.format(name="ModelNew")
    files = {"rows.py": model if beside else model + INPUTS}
    if beside:
        files["reference.py"] = "import torch\n" + MODEL.format(name="Model") + INPUTS
    draft = drafted(tmp_path, files)
    assert not draft.missing
    assert sizes_of(draft, "x") == [6, 40]
    assert draft.dims["rows"] == 6
    assert argument(draft, "factor").value == "2.0"


PADDED = """
def pad(x, columns):
    out = x.new_zeros((x.shape[0], columns))
    out[:, : x.shape[1]] = x
    return out


def padded(x, factor):
    columns = (x.shape[1] + 31) // 32 * 32
    if columns != x.shape[1]:
        x = pad(x, columns)
    return launch(x, factor)
"""


def test_a_condition_that_sizes_decide_is_kept(tmp_path: Path) -> None:
    code = KERNEL + DIRECT + PADDED + MODEL.format(name="ModelNew").replace("launch(", "padded(")
    draft = drafted(tmp_path, {"rows.py": code + INPUTS.replace("rows, 40", "rows, 64")})
    assert not draft.missing
    width = next(n for n, size in draft.dims.items() if size == 64)
    assert f"not (({width} + 31) // 32 * 32 != {width})" in draft.promises


def test_a_number_that_a_condition_over_sizes_chooses_stays_one_of_both(tmp_path: Path) -> None:
    code = (KERNEL + DIRECT + MODEL.format(name="ModelNew")).replace(
        "return launch(x, self.factor)", "return launch(x, 3 if x.shape[0] % 4 == 0 else x.shape[1])"
    )
    draft = drafted(tmp_path, {"rows.py": code + INPUTS})
    assert argument(draft, "factor").value == "3 if rows % 4 == 0 else d40"
    assert draft.promises == ()


def test_sizes_that_a_model_makes_its_tensors_of_are_dims(tmp_path: Path) -> None:
    code = (
        (KERNEL + DIRECT + MODEL.format(name="ModelNew"))
        .replace(
            "        self.factor = factor\n",
            "        self.factor = torch.zeros(factor, count).shape[0]\n",
        )
        .replace("(self, factor)", "(self, factor, count, seed)")
    )
    inputs = INPUTS.replace("return [2.0]", "return [width, 3, seed]").replace(
        "rows = 6", "rows = 6\nwidth = 96\nseed = 7"
    )
    draft = drafted(tmp_path, {"rows.py": code + inputs})
    assert argument(draft, "factor").value == "width" and draft.dims["width"] == 96
    assert "seed" not in draft.dims


def test_a_task_says_its_cases(tmp_path: Path) -> None:
    entry = (
        "\n\ndef _custom(data):\n    return launch(data, 2.0)\n\n\ncustom_kernel = torch.compile(_custom)\n"
    )
    inputs = (
        "import torch\n\n\ndef generate_input(size: int, seed: int):\n    gen = torch.Generator()\n"
        "    scale = torch.rand(1, generator=gen).item()\n    return torch.randn(size, generator=gen) * scale\n"
    )
    task = 'files:\n  - {"name": "a"}\ntests:\n  - {"size": 96, "seed": 1}\n  - {"size": 200, "seed": 2}\n'
    files = {
        "task/submissions/rows.py": KERNEL + DIRECT + entry,
        "task/reference.py": inputs,
        "task/task.yml": task,
    }
    draft = drafted(tmp_path, files, path="task/submissions/rows.py")
    assert not draft.missing
    assert draft.dims == {"size": 200}


DATA = {
    "a number that is drawn": ("launch(torch.randn(6, 40), torch.randint(3, 9, (1,)).item())", "3"),
    "how many keep a condition": (
        "y = torch.arange(6)\n    launch(torch.randn(6, 40), (y != 2).sum().item())",
        "6",
    ),
    "the largest of a list": ("launch(torch.randn(6, 40), int(torch.tensor([3, 7]).max()))", "7"),
    "sums of a list": (
        "import itertools\n    launch(torch.randn(6, 40), list(itertools.accumulate([3, 4]))[1])",
        "7",
    ),
    "a limit of a dtype": ("launch(torch.randn(6, 40), torch.finfo(torch.float8_e4m3fn).max)", "448.0"),
}


@pytest.mark.parametrize(("call", "value"), DATA.values(), ids=DATA)
def test_numbers_that_come_from_data(tmp_path: Path, call: str, value: str) -> None:
    test = f"import torch\nfrom rows import launch\n\n\ndef test_it():\n    {call}\n"
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT, "tests/test_rows.py": test})
    assert not draft.missing
    text = argument(draft, "factor").value or ""
    assert float(eval(text, {"__builtins__": {}}, dict(draft.dims))) == float(value)


LAYERS = {
    "a convolution": (
        "torch.nn.Conv2d(3, 8, 3, padding=1, stride=2)(torch.randn(2, 3, 9, 10))",
        [2, 8, 5, 5],
    ),
    "a transposed one": (
        "torch.nn.ConvTranspose1d(3, 8, 4, stride=2, padding=1)(torch.randn(2, 3, 9))",
        [2, 8, 18],
    ),
    "a pool": ("torch.nn.MaxPool2d(2)(torch.randn(2, 3, 9, 10))", [2, 3, 4, 5]),
    "layers in turn": (
        "torch.nn.Sequential(torch.nn.Linear(40, 7), torch.nn.ReLU())(torch.randn(6, 40))",
        [6, 7],
    ),
    "a weight": ("torch.nn.Conv1d(4, 6, 3, groups=2).weight", [6, 2, 3]),
    "parameters": ("list(torch.nn.Linear(40, 7).parameters())[0]", [7, 40]),
}


@pytest.mark.parametrize(("made", "shape"), LAYERS.values(), ids=LAYERS)
def test_layers_give_their_shapes(tmp_path: Path, made: str, shape: list[int]) -> None:
    test = f"import torch\nfrom rows import launch\n\n\ndef test_it():\n    launch({made}, 2.0)\n"
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT, "tests/test_rows.py": test})
    assert not draft.missing
    assert sizes_of(draft, "x") == shape


def test_an_optimizer_goes_through_its_parameters(tmp_path: Path) -> None:
    host = """
class Scaled(torch.optim.Optimizer):
    def __init__(self, params, lr=0.25):
        super().__init__(params, dict(lr=lr))

    def step(self):
        for group in self.param_groups:
            for p in filter(lambda q: q.grad is not None, group["params"]):
                state = self.state[p]
                if len(state) == 0:
                    state["out"] = torch.empty_like(p)
                scale[(triton.cdiv(p.numel(), 64),)](state["out"], p, group["lr"], p.numel(), BLOCK=64)
"""
    test = (
        "import torch\nfrom rows import Scaled\n\n\ndef test_it():\n"
        "    model = torch.nn.Linear(40, 6)\n    Scaled(model.parameters()).step()\n"
    )
    draft = drafted(tmp_path, {"rows.py": KERNEL + host, "tests/test_rows.py": test})
    assert not draft.missing
    assert sizes_of(draft, "x") == [6, 40]
    assert argument(draft, "factor").value == "0.25"


def test_a_class_derived_from_a_layer_has_its_weights(tmp_path: Path) -> None:
    host = """
class Norm(torch.nn.GroupNorm):
    def forward(self, x):
        out = torch.empty_like(self.weight)
        scale[(self.num_groups,)](out, self.weight, self.eps, out.numel(), BLOCK=64)
        return out
"""
    test = "import torch\nfrom rows import Norm\n\n\ndef test_it():\n    Norm(4, 24, eps=0.5)(torch.randn(2, 24, 5))\n"
    draft = drafted(tmp_path, {"rows.py": KERNEL + host, "tests/test_rows.py": test})
    assert not draft.missing
    assert sizes_of(draft, "x") == [24]
    assert (draft.grid, argument(draft, "factor").value) == (("4",), "0.5")


ENUMERATION = """
import enum


class How(enum.Enum):
    HALF = "half"
    TWICE = "twice"


FACTOR = {How.HALF: 0.5, How.TWICE: 2.0}
"""
RECORD = """
from dataclasses import dataclass, field


@dataclass
class Config:
    factors: list = field(default_factory=lambda: [3.0, 4.0])
"""
NOTES = {
    "an enumeration": (ENUMERATION, 'FACTOR[How("twice")] if How("half") is How.HALF else 9.0', "2.0"),
    "a default of a record": (RECORD, "Config().factors[1]", "4.0"),
    "a function of operators": ("import operator\n", "operator.floordiv(9, 2)", "4"),
    "names that are given together": ("LOW, HIGH = 5.0, 7.0\n", "HIGH", "7.0"),
}


@pytest.mark.parametrize(("above", "factor", "value"), NOTES.values(), ids=NOTES)
def test_numbers_that_python_computes(tmp_path: Path, above: str, factor: str, value: str) -> None:
    head = f"import torch\nfrom rows import launch\n{above}"
    test = f"{head}\n\ndef test_it():\n    launch(torch.randn(6, 40), {factor})\n"
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT, "tests/test_rows.py": test})
    assert not draft.missing
    assert argument(draft, "factor").value == value


def test_layers_of_the_repository_in_turn(tmp_path: Path) -> None:
    host = """
class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = torch.nn.Conv1d(width, 4, kernel_size=3)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        mean = self.norm.running_mean
        launch(mean, self.norm.eps)
        return self.conv(x)


def example():
    torch.nn.Sequential(torch.nn.Identity(), *[Layer(4) for _ in range(2)])(torch.randn(2, 4, 9))
"""
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT + host})
    assert not draft.missing
    assert sizes_of(draft, "x") == [4]


def test_ignored_labels_leave_the_range_of_the_others(tmp_path: Path) -> None:
    test = (
        "import torch\nfrom rows import launch\n\n\ndef test_it():\n"
        "    labels = torch.randint(0, 40, (6,))\n    labels[torch.randperm(6)[:2]] = -100\n    launch(labels, 2)\n"
    )
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT, "tests/test_rows.py": test})
    assert argument(draft, "x").values in ("integers(0, 40)", "integers(0, d40)")


def test_numbers_that_values_are_drawn_from_are_no_sizes(tmp_path: Path) -> None:
    test = (
        "import torch\nfrom rows import launch\n\n\ndef test_it():\n"
        "    full = torch.full((9,), 23)\n    launch(torch.randint(17, 40, (6,)), full[0].item())\n"
    )
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT, "tests/test_rows.py": test})
    assert argument(draft, "x").values == "integers(17, 40)"
    assert not {17, 23, 40} & set(draft.dims.values())


DESCRIBED = """
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_blocks(values):
    if not isinstance(values["x"], TensorDescriptor):
        return
    values["x"].block_shape = [values["ROWS"], values["COLS"] // 2]
    values["out"].block_shape = [values["ROWS"], values["COLS"] // 2]


@triton.autotune([triton.Config({"ROWS": 8, "COLS": 64}, pre_hook=set_blocks)], key=["n"])
@triton.jit
def scale(out, x, factor, n, ROWS: tl.constexpr, COLS: tl.constexpr, EPS: tl.constexpr = 0.5):
    row = tl.program_id(0) * ROWS
    for col in range(0, n, COLS // 2):
        out.store([row, col], x.load([row, col]) * factor + EPS)


def launch(x, factor):
    y = torch.empty_like(x)
    B, T, H = x.shape
    grid = lambda meta: (triton.cdiv(B * T, meta["ROWS"]),)
    scale[grid](MADE_OF_y, MADE_OF_x, factor, H)
    return y
"""
DESCRIBED_TEST = TEST.replace("(6, 40)", "(3, 5, 48)")


@pytest.mark.parametrize("made", ["TensorDescriptor({}, [B * T, H], [H, 1], [1, 1])",
                                  "TensorDescriptor.from_tensor({}.view(-1, H), block_shape=[1, 1])"])  # fmt: skip
def test_descriptors_of_the_host_are_buffers_with_the_block_that_the_configuration_gives(
    tmp_path: Path, made: str
) -> None:
    host = DESCRIBED.replace("MADE_OF_x", made.format("x")).replace("MADE_OF_y", made.format("y"))
    draft = drafted(tmp_path, {"rows.py": host, "tests/test_rows.py": DESCRIBED_TEST})
    assert not draft.missing
    assert argument(draft, "x").kind == "input" and argument(draft, "out").kind == "output"
    assert argument(draft, "x").descriptor == argument(draft, "out").descriptor == ("ROWS", "COLS // 2")
    assert sizes_of(draft, "x") == sizes_of(draft, "out") == [15, 48]
    assert any(p.endswith("% 4 == 0") for p in draft.promises)
    assert draft.workload().argument("x").descriptor == ("ROWS", "COLS // 2")


@pytest.mark.parametrize(
    "made", ["TensorDescriptor(x, x.shape, [2], [64])", "TensorDescriptor(x, x.shape, [1], f())"]
)
def test_a_descriptor_that_is_not_row_major_or_of_an_unknown_block_is_said_to_be_one(
    tmp_path: Path, made: str
) -> None:
    host = f"""
from triton.tools.tensor_descriptor import TensorDescriptor


def launch(x, factor):
    out = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 64),)](out, {made}, factor, x.numel(), BLOCK=64)
"""
    draft = drafted(tmp_path, {"rows.py": KERNEL + host, "tests/test_rows.py": TEST})
    assert any("it is a tensor descriptor, and nothing tells" in m for m in draft.missing)
    asked = question(draft, "rows.py")
    assert "descriptor = [BLOCK, …]" in asked and "--set" not in asked


@pytest.mark.parametrize(("columns", "whole"), [(512, True), (500, False), (300, False)])
def test_a_size_that_leaves_lanes_of_a_warp_over_is_checked_with_one_that_does(
    tmp_path: Path, columns: int, whole: bool
) -> None:
    test = TEST.replace("(6, 40)", f"(4096, {columns})")
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT, "tests/test_rows.py": test})
    checked = with_checked_sizes(draft).checked
    name = next(n for n, size in draft.dims.items() if size == columns)
    assert checked[name] < columns
    assert (checked[name] % 32 == 0) == whole


@pytest.mark.parametrize(
    ("before", "after", "passed"),
    [
        ("x.numel(), BLOCK", "2 * x.numel(), BLOCK", 2 * 240),  # another number for n
        ("x.numel(), BLOCK", "x.shape[0] * x.shape[1], BLOCK", None),  # the same one
    ],
)
def test_a_change_may_pass_another_number(
    tmp_path: Path, before: str, after: str, passed: int | None
) -> None:
    old = KERNEL + DIRECT
    draft = drafted(tmp_path, {"rows.py": old, "tests/test_rows.py": TEST})
    assert before in old
    new = old.replace(before, after)
    program = program_from_file(
        tmp_path / "rows.py",
        "scale",
        draft.workload(),
        data=new.encode(),
        root=tmp_path,
        changed_from=old.encode(),
    )
    values = [a for step in program.steps if isinstance(step, LaunchStep) for a in step.arguments]
    numbers = [evaluate(a.value, draft.dims) for a in values if isinstance(a, Value)]
    assert numbers == ([] if passed is None else [passed])


def test_a_change_may_give_a_kernel_numbers_that_its_launch_tells(tmp_path: Path) -> None:
    old = KERNEL + DIRECT
    draft = drafted(tmp_path, {"rows.py": old, "tests/test_rows.py": TEST})
    new = (
        old.replace("factor, n, BLOCK", "factor, n, rows, half: tl.constexpr, BLOCK")
        .replace("x.numel(), BLOCK=64", "x.numel(), x.shape[0], half=2, BLOCK=64")
    )  # fmt: skip
    path = tmp_path / "rows.py"
    program = program_from_file(path, "scale", draft.workload(), data=new.encode(), root=tmp_path)
    (step,) = program.steps
    assert isinstance(step, LaunchStep)
    assert step.arguments[:4] == ("out", "x", "factor", "n")
    (rows,) = step.arguments[4:]
    assert isinstance(rows, Value)
    assert (evaluate(rows.value, draft.dims), rows.dtype) == (6, "int32")
    unread = new.replace("x.shape[0], half", "asked(x), half")
    with pytest.raises(ProgramError, match="takes 5 arguments"):
        program_from_file(path, "scale", draft.workload(), data=unread.encode(), root=tmp_path)


def test_a_change_may_take_numbers_from_a_kernel(tmp_path: Path) -> None:
    old = (
        (KERNEL + DIRECT)
        .replace("x, factor, n, BLOCK", "x, factor, stride, n, BLOCK")
        .replace("x + at,", "x + at * stride,")
        .replace("factor, x.numel(), ", "factor, x.stride(1), x.numel(), ")
    )
    draft = drafted(tmp_path, {"rows.py": old, "tests/test_rows.py": TEST})
    new = (
        old.replace("factor, stride, n", "factor, n")
        .replace("at * stride", "at")
        .replace("x.stride(1), ", "")
        .replace("64", "128")
    )
    path, workload = tmp_path / "rows.py", draft.workload()
    after = program_from_file(
        path, "scale", workload, data=new.encode(), root=tmp_path, changed_from=old.encode()
    )
    assert after.arguments == ("out", "x", "factor", "n")
    assert after.launch is not None and after.launch.constexpr["BLOCK"] == "128"


TIMED = """

if __name__ == "__main__":
    launch(torch.randn(3, 5), 1.0)
    for rows, cols in ((1 << 16, 1 << 16), (4096, 1024), (64, 64)):
        x = torch.randn(rows, cols)
        print(triton.testing.do_bench(lambda: launch(x, 2.0)))
"""


@pytest.mark.parametrize(
    ("timed", "sizes"),
    [
        (TIMED, [(4096, 1024), (64, 64)]),
        (TIMED.replace("(1 << 16, 1 << 16), ", ""), [(4096, 1024), (64, 64)]),
        (TIMED.replace("(1 << 16, 1 << 16), ", "").replace("x, 2.0", "x.view(-1), 2.0"), [(4096 * 1024,)]),
        ("", [(6, 40)]),
    ],
    ids=["the largest is too large", "benchmark", "of another shape", "none"],
)
def test_sizes_that_a_benchmark_times_come_before_those_of_a_test(
    tmp_path: Path, timed: str, sizes: list[tuple[int, ...]]
) -> None:
    draft = drafted(tmp_path, {"rows.py": KERNEL + DIRECT + timed, "tests/test_rows.py": TEST})
    shape = argument(draft, "x").shape or ()
    assert [tuple(evaluate(str(extent), dims) for extent in shape) for dims in draft.timed] == sizes
    assert any(note.endswith(" times") for note in draft.assumed) == ((6, 40) not in sizes)
