"""Variables and files of a workspace that name programs and modules, as a `.envrc` sets them: none of them runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from executable_files import write_executable
from history.repositories import Step, make_repository
from rewrite.conftest import SCALE, WORKLOAD

PROGRAMS = (
    *("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "TRITON_CUOBJDUMP_PATH", "TRITON_NVDISASM_PATH"),
    *("NVCC_CCBIN", "CC", "CXX", "CUDAHOSTCXX", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR"),
    *("GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_PYTHON_GIT_EXECUTABLE", "PAGER", "EDITOR", "BROWSER", "SHELL"),
)  # fmt: skip
FOLDERS = (
    *("GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "COMPILER_PATH", "CPATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"),
    *("CONDA_PREFIX", "TRITON_PLUGIN_DIRS", "TRITON_OVERRIDE_DIR", "DASK_CONFIG", "PYTHONUSERBASE"),
)  # fmt: skip
MODULES = {
    "PYTHONWARNINGS": "error::evil.W", "PYTHONBREAKPOINT": "evil.x", "PYTEST_PLUGINS": "evil",
    "TRITON_CACHE_MANAGER": "evil:X", "TRITON_BACKENDS_IN_TREE": "0",
}  # fmt: skip
NAMES = (
    "git",
    "nvcc",
    "g++",
    "gcc",
    "cc",
    "python3",
    "ptxas",
    "cicc",
    "sh",
    "ssh",
    "as",
    "ld",
    "c++filt",
    "mount",
)
FILES = {
    "setup.cfg": "[tool:pytest]\naddopts = -p evil\n",
    "pyproject.toml": '[build-system]\nrequires = []\nbackend-path = ["."]\nbuild-backend = "evil"\n',
    "uv.toml": 'index-url = "http://127.0.0.1:1/"\n',
    ".pydistutils.cfg": "[install]\nprefix = /tmp\n",
    "pyvenv.cfg": "home = bin\n",
    "nvcc.profile": "PATH += bin\n",
    "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
    "evil-1.0.dist-info/entry_points.txt": "[triton.backends]\nevil = evil\n",
}
COMMANDS = [
    ["mine", "."],
    ["doctor"],
    pytest.param(["gate", "--since", "HEAD", "--device", "emulated"], marks=pytest.mark.long),
    pytest.param(["coverage", "."], marks=pytest.mark.long),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_no_variable_or_file_of_a_workspace_names_what_runs(tmp_path: Path, command: list[str]):
    top, ran = tmp_path / "repository", tmp_path / "ran"
    mark = f"open({str(ran)!r}, 'a').write(__file__)\n"
    modules = ("evil", "conftest", "setup", "sitecustomize", "numpy", "git", "click", "pydantic", "triton")
    files = {"scale.cu": SCALE, ".klineage/workloads/scale.toml": WORKLOAD, **FILES}
    make_repository(top, [Step("Add", {**files, **{f"{name}.py": mark for name in modules}})])
    (top / "scale.cu").write_text(SCALE.replace("a * x[i]", "x[i] * a"))
    (top / "bin").mkdir()
    for name in (*NAMES, *PROGRAMS):
        write_executable(top / "bin" / name, f"#!/bin/sh\necho $0 >> {ran}\nexit 1\n")
    environment = {
        **os.environ,
        **{name: str(top / "bin" / name) for name in PROGRAMS},
        **dict.fromkeys(FOLDERS, str(top / "bin")),
        **MODULES,
        "PATH": f".:{top / 'bin'}:{os.environ['PATH']}",
        "NVCC_PREPEND_FLAGS": f"-ccbin {top / 'bin' / 'cc'}",
        "KLINEAGE_KEEP_IN": str(tmp_path / "kept"),
    }
    script = Path(sys.executable).with_name("klineage")
    done = subprocess.run(
        [script, *command], cwd=top, env=environment, capture_output=True, text=True, timeout=120
    )
    assert not ran.exists(), ran.read_text()
    assert "Traceback" not in done.stderr and done.returncode in (0, 3, 4), done.stderr
