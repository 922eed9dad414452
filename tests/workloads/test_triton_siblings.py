"""What a kernel takes from other modules of its package comes along, and nothing else of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.triton_module import part_of_module
from kernel_lineage.workloads.triton_siblings import siblings_of

SCALE = """\
import not_installed
import triton.language as tl

DEVICE = not_installed.device()
HALF = tl.constexpr(0.5)
"""
ROUNDS = """\
import not_installed
import triton
import triton.language as tl
from pkg.scale import HALF


@triton.jit
def halved(x):
    return x * HALF


def launcher(x):
    return not_installed.run(x)
"""
KERNEL = """\
import torch
import triton
import triton.language as tl

from .rounds import halved, launcher


@triton.jit
def fill(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, halved(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


def fill_rows(x: torch.Tensor):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    fill[(triton.cdiv(n_rows * n_cols, 64),)](out, x, n_rows * n_cols, BLOCK=64)
    return out
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "pkg" / "ops"
    folder.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for file in (tmp_path / "pkg" / "__init__.py", folder / "__init__.py"):
        file.write_text("import not_installed\n")
    (tmp_path / "pkg" / "scale.py").write_text(SCALE)
    (folder / "rounds.py").write_text(ROUNDS)
    (folder / "rows.py").write_text(KERNEL)
    return folder / "rows.py"


def test_only_the_parts_that_are_reached_come_along(package: Path) -> None:
    module, siblings = siblings_of(part_of_module(KERNEL, "fill"), package)
    assert module == "pkg/ops/rows.py"
    assert set(siblings) == {"pkg/ops/rounds.py", "pkg/scale.py"}
    assert not any("not_installed" in text for text in siblings.values())
    assert "launcher" not in siblings["pkg/ops/rounds.py"], "listed, and not used"
    assert siblings["pkg/ops/rounds.py"].splitlines()[7] == "def halved(x):", "on its own line"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from . import rounds", "rounds"),
        ("from pkg.ops import rounds as R", "R"),
        ("import pkg.ops.rounds", "pkg.ops.rounds"),
        ("import pkg.ops.rounds as near", "near"),
    ],
)
def test_what_is_taken_by_the_name_of_a_module_comes_along(package: Path, line: str, name: str) -> None:
    kernel = KERNEL.replace("from .rounds import halved, launcher", line).replace(
        "halved(", f"{name}.halved("
    )
    _, siblings = siblings_of(part_of_module(kernel, "fill"), package)
    assert siblings["pkg/ops/rounds.py"].splitlines()[7] == "def halved(x):"
    assert "launcher" not in siblings["pkg/ops/rounds.py"]
    assert "HALF" in siblings["pkg/scale.py"], "and what that needs"


def test_a_kernel_that_imports_nothing_of_its_package_is_alone(package: Path) -> None:
    assert siblings_of("import triton.language as tl\n", package) == ("", {})


@pytest.mark.long
def test_a_kernel_with_functions_of_other_modules_is_drafted_built_and_run(package: Path) -> None:
    _, proof = tried_draft(kernel_of(package, "fill"), package, per_kind=1, kinds=("zero_output",))
    assert proof is not None
    assert (proof.baseline, [t.fate for t in proof.tried]) == ("", ["killed"])


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("import math", set()),
        ("from lib.ops.utils import settings\nsettings", {"lib/ops/utils.py"}),
        ("from .utils import settings\nsettings", {"lib/ops/utils.py"}),
        ("from ..sizes import block\nblock", {"lib/sizes.py"}),
        ("from . import other\nother", {"lib/ops/other.py"}),
        ("import lib.sizes", {"lib/sizes.py"}),
        ("from lib import everything\neverything", {"lib/__init__.py", "lib/heavy.py"}),
    ],
)
def test_modules_are_found_by_their_imports_and_inits_only_by_name(
    text: str, modules: set[str], tmp_path: Path
) -> None:
    files = {
        "__init__.py": "from lib.heavy import everything",
        "heavy.py": "everything = 1",
        "sizes.py": "block = 1",
        "ops/__init__.py": "",
        "ops/norm.py": "",
        "ops/utils.py": "settings = 1",
        "ops/other.py": "",
    }
    for name, held in files.items():
        (tmp_path / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lib" / name).write_text(held)
    assert set(siblings_of(text, tmp_path / "lib" / "ops" / "norm.py")[1]) == modules
