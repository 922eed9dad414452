"""Which modules of its own packages a file's imports name."""

import ast
from pathlib import Path

import pytest

from kernel_lineage.workloads.python_package import import_root, imported_from


def tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py").replace("/init.py", "/__init__.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def package(tmp_path):
    return tree(
        tmp_path,
        lib__init="from lib.heavy import everything",
        lib__heavy="import torch",
        lib__ops__init="",
        lib__ops__norm="",
        lib__ops__utils="from ..sizes import block",
        lib__ops__other="",
        lib__sizes="block = 1",
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import math", []),
        ("from lib.ops.utils import settings", [("lib/ops/utils.py", "settings")]),
        ("from .utils import settings", [("lib/ops/utils.py", "settings")]),
        ("from ..sizes import block", [("lib/sizes.py", "block")]),
        ("from . import other", [("lib/ops/other.py", "")]),
        ("import lib.sizes", [("lib/sizes.py", "")]),
        ("from lib import everything", [("lib/__init__.py", "everything")]),
    ],
)
def test_modules_are_found_by_their_imports_and_inits_only_by_name(package, text, found):
    (node,) = ast.parse(text).body
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    assert list(imported_from(node, "lib/ops/norm.py", package)) == found


def test_imports_count_from_the_folder_above_the_outermost_package(package):
    assert import_root(package / "lib" / "ops" / "norm.py") == package
    assert import_root(tree(package, alone="") / "alone.py") == package
