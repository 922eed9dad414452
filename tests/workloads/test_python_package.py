"""Which modules of its own packages a file reaches."""

from pathlib import Path

import pytest

from kernel_lineage.workloads.python_package import package_of


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
        lib__ops__utils="from ..sizes import block",
        lib__ops__other="",
        lib__sizes="block = 1",
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import math\nfrom lib.ops.utils import settings", ["lib/ops/utils.py", "lib/sizes.py"]),
        ("from .utils import settings", ["lib/ops/utils.py", "lib/sizes.py"]),
        ("from . import other", ["lib/ops/other.py"]),
        ("def later():\n    import lib.sizes", ["lib/sizes.py"]),
        ("from lib import everything", ["lib/__init__.py", "lib/heavy.py"]),
        ("import lib.ops.norm", []),
    ],
)
def test_modules_are_found_by_their_imports_and_inits_only_by_name(package, text, found):
    file = package / "lib" / "ops" / "norm.py"
    file.write_text(text)
    module, siblings = package_of(text, file)
    assert module == "lib/ops/norm.py"
    assert sorted(siblings) == found


def test_a_file_outside_of_packages_is_its_own_root_unless_told(package):
    file = tree(package, alone="import lib.sizes") / "alone.py"
    assert package_of("import lib.sizes", file)[0] == "alone.py"
    assert package_of("", file, package.parent)[0] == f"{package.name}/alone.py"
    with pytest.raises(ValueError, match="does not lie below"):
        package_of("", file, package / "lib")
