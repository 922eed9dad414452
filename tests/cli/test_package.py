"""What the wheel holds, and the pre-commit hook as the documentation gives it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from git import Actor, Repo

from cli.test_gate import KERNEL, WORKLOAD
from kernel_gate.standing import ExitCode
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.cli.main import main
from longer import first_now

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> set[str]:
    """Names in the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(folder / done.stdout.split()[-1]) as wheel:
        return set(wheel.namelist())


def test_the_wheel_has_every_file_that_the_packages_read(names):
    for package in (ROOT / "server" / "kernel_lineage", ROOT / "gate" / "kernel_gate"):
        here = {
            f"{package.name}/{p.relative_to(package).as_posix()}"
            for p in package.rglob("*")
            if p.is_file() and "__pycache__" not in p.parts and ".klineage" not in p.parts
        }
        assert here - names == set()
    skills = {p.relative_to(ROOT / "skills").as_posix() for p in (ROOT / "skills").rglob("*") if p.is_file()}
    assert {f"kernel_lineage/builtin_skills/{name}" for name in skills} - names == set()
    assert "kernel_gate/reporting/reason-codes.md" in names


def test_the_wheel_has_nothing_else(names):
    tops = {name.split("/")[0] for name in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"kernel_gate", "kernel_lineage"}


def hook_of_the_documentation() -> dict:
    text = (ROOT / "docs" / "gating-changes.md").read_text("utf-8")
    documented = yaml.safe_load(re.search(r"```yaml\n(repos:.*?)```", text, re.DOTALL)[1])
    (published,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    (used,) = documented["repos"][0]["hooks"]
    assert used["id"] == published["id"]
    return {**published, **used}


@pytest.mark.parametrize(("bound", "status"), first_now([("i < n - 1", 1), ("i < n", 0)]))
def test_the_hook_of_the_documentation_lets_right_changes_through(tmp_path, bound, status):
    repo = Repo.init(tmp_path)
    (tmp_path / ".klineage" / "workloads").mkdir(parents=True)
    (tmp_path / ".klineage" / "workloads" / "twice.toml").write_text(WORKLOAD)
    (tmp_path / "twice.cu").write_text(KERNEL)
    repo.index.add([".klineage/workloads/twice.toml", "twice.cu"])
    author = Actor("A", "a@example.org")
    repo.index.commit("one", author=author, committer=author)
    (tmp_path / "twice.cu").write_text(KERNEL.replace("x[i] + x[i]", "2.0f * x[i]").replace("i < n", bound))
    hook = hook_of_the_documentation()
    name, *options = hook["entry"].split()
    assert name == "klineage"
    command = [sys.executable, "-m", "kernel_lineage", *options, *hook["args"], "twice.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    assert repo.untracked_files == []


def test_the_container_of_the_documentation_installs_extras_that_there_are():
    text = (ROOT / "docs" / "editors.md").read_text("utf-8")
    container = json.loads(re.search(r"```json\n(\{\n  \"image.*?)```", text, re.DOTALL)[1])
    (extras,) = re.findall(r"'kernel-lineage\[(.*?)\]'", container["postCreateCommand"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_what_is_kept_of_a_repository_lies_outside_of_it(tmp_path, monkeypatch):
    repo = Repo.init(tmp_path)
    for name, text in (
        ("a.cu", KERNEL),
        ("b.cu", KERNEL.replace("i < n", "i < n - 1")),
        ("w.toml", WORKLOAD),
    ):
        (tmp_path / name).write_text(text)
    repo.index.add(["a.cu", "b.cu", "w.toml"])
    monkeypatch.chdir(tmp_path)
    asked = ["gate", "a.cu", "b.cu", "--kernel", "twice", "--workload", "w.toml", "--device", "emulated"]
    assert CliRunner().invoke(main, asked).exit_code == ExitCode.REJECTED
    assert (kept_in(tmp_path) / "cache.sqlite").exists() and repo.untracked_files == []
    assert not (tmp_path / ".klineage").exists()
