"""Files of a repository that are no files, lead elsewhere or have no end: refused with words, never waited for."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from attacks.hostile_files import LINK, OUTSIDE, WORKLOAD, hostile_file
from history.repositories import NAIVE, Step, make_repository
from kernel_gate.cases import Case
from kernel_gate.files.reading import RefusedFile, enclosing_repository, is_plain_file, read_file, read_text
from kernel_gate.files.writing import write_in_repository
from kernel_gate.inputs import make_inputs
from kernel_gate.oracle import OracleError, OracleProcess
from kernel_gate.workload import WorkloadError, load_workload, parse_workload
from kernel_lineage.auditing.submissions import submissions
from kernel_lineage.cli.commands.workload import command as workload
from kernel_lineage.history.git import RepositoryError, open_repository, read_log
from kernel_lineage.history.mine import mine
from kernel_lineage.history.trees import edited_trees, trees
from kernel_lineage.skills.library import library
from kernel_lineage.skills.skill_file import write_skill
from kernel_lineage.skills.target import TargetError, read_target
from kernel_lineage.workloads.files import source_of
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.saved import workloads_in
from skills.skill_folders import CASES, a_skill

SMALL = 4096


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    (top / ".klineage" / "workloads").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text(OUTSIDE)
    return top


@pytest.mark.parametrize("kind", ["fifo", "zero", "link out", "folder", "loop", "socket", "large"])
def test_what_is_no_plain_file_of_the_repository_is_refused_with_words(repository: Path, kind: str):
    path = repository / "kernel.cu"
    message = hostile_file(path, kind)
    with pytest.raises(OSError, match=message):
        read_file(path, most=SMALL)
    assert kind == "large" or not is_plain_file(path)


def test_a_link_within_the_repository_is_followed(repository: Path):
    (repository / "a.cu").write_text("text\r\n")
    (repository / "b.cu").symlink_to("a.cu")
    assert read_text(repository / "b.cu") == "text\n"


def test_the_repository_is_the_one_of_the_name_and_not_of_what_a_link_names(repository: Path):
    (repository / "out").symlink_to(repository.parent)
    assert enclosing_repository(repository / "out" / "secret.txt") == repository
    with pytest.raises(RefusedFile, match=LINK):
        read_file(repository / "out" / "secret.txt")


@pytest.mark.parametrize("kind", ["fifo", "zero", "link out", "large", "loop"])
def test_a_hostile_workload_is_a_problem_and_hides_no_other(repository: Path, kind: str):
    folder = repository / ".klineage" / "workloads"
    (folder / "good.toml").write_text(WORKLOAD)
    hostile_file(folder / "bad.toml", kind)
    workloads = workloads_in(repository)
    assert [f.workload.kernel for f in workloads.found] == ["twice"]
    assert "bad.toml" in workloads.problems[0] and OUTSIDE not in workloads.problems[0]


@pytest.mark.parametrize("name", ["values.npy", "../../../secret.txt", "/dev/zero", "/proc/self/environ"])
@pytest.mark.parametrize("kind", ["fifo", "zero", "link out"])
def test_values_from_a_hostile_file_are_refused(repository: Path, name: str, kind: str):
    folder = repository / ".klineage" / "workloads"
    hostile_file(folder / "values.npy", kind)
    text = WORKLOAD.replace('values = "normal"', f'values = "file({name})"')
    workload = parse_workload(text, folder=folder)
    with pytest.raises(WorkloadError, match="cannot be read"):
        make_inputs(workload, Case({"n": 4}, seed=1))


def test_a_header_that_says_more_than_the_file_holds_allocates_nothing(repository: Path):
    folder = repository / ".klineage" / "workloads"
    with (folder / "values.npy").open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)}
        np.lib.format.write_array_header_1_0(file, header)
    text = WORKLOAD.replace('values = "normal"', 'values = "file(values.npy)"')
    with pytest.raises(WorkloadError, match="shorter than that"):
        make_inputs(parse_workload(text, folder=folder), Case({"n": 4}, seed=1))


def test_a_damaged_header_is_said(repository: Path):
    folder = repository / ".klineage" / "workloads"
    (folder / "values.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'shape': ((((4,")
    text = WORKLOAD.replace('values = "normal"', 'values = "file(values.npy)"')
    with pytest.raises(WorkloadError, match="cannot be read"):
        make_inputs(parse_workload(text, folder=folder), Case({"n": 4}, seed=1))


def test_values_from_a_file_beside_the_workload_are_read(repository: Path):
    folder = repository / ".klineage" / "workloads"
    np.save(folder / "values.npy", np.arange(4, dtype=np.float32))
    text = WORKLOAD.replace('values = "normal"', 'values = "file(values.npy)"')
    made = make_inputs(parse_workload(text, folder=folder), Case({"n": 4}, seed=1))
    assert made["x"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["fifo", "zero", "link out"])
def test_a_hostile_oracle_is_not_read(repository: Path, kind: str):
    folder = repository / ".klineage" / "workloads"
    hostile_file(folder / "oracles.py", kind)
    workload = parse_workload(WORKLOAD + '\n[oracle]\npython = "oracles.py:twice"\n', folder=folder)
    with pytest.raises(OracleError, match="cannot be read"):
        OracleProcess(workload)


@pytest.mark.parametrize("kind", ["fifo", "zero", "link out", "socket"])
def test_a_hostile_source_is_refused_by_every_reader(repository: Path, kind: str):
    path = repository / "kernel.cu"
    hostile_file(path, kind)
    with pytest.raises(TargetError, match="cannot be read"):
        read_target(f"{path}:twice")
    with pytest.raises(ProgramError, match="cannot be read"):
        source_of(path)


@pytest.mark.parametrize("kind", ["fifo", "zero", "link out", "large"])
def test_a_hostile_card_costs_only_its_skill(repository: Path, kind: str):
    folder = repository / ".klineage" / "skills" / "planted"
    folder.mkdir(parents=True)
    hostile_file(folder / "SKILL.md", kind)
    skills = library(repository)
    assert skills.get("planted") is None and len(skills.skills) > 10
    assert any("planted" in str(p) for p in skills.problems)


def test_a_workload_nested_five_thousand_deep_is_no_workload():
    for text in ("a = " + "[" * 5000 + "]" * 5000, "a = " + "{a=" * 5000 + "1" + "}" * 5000):
        with pytest.raises(WorkloadError, match=r"nested deeper|not valid TOML"):
            parse_workload(text)
    deep = WORKLOAD.replace('shape = ["n"]', f'shape = ["{"(" * 150 + "n" + ")" * 150}"]')
    minus = WORKLOAD.replace('shape = ["n"]', f'shape = ["{"-" * 900}n"]')
    for text in (deep, minus):
        try:
            parse_workload(text)
        except WorkloadError as error:
            assert "shape" in str(error) or "n" in str(error)


def test_mining_reads_no_link_of_the_work_tree_and_writes_nothing(tmp_path: Path):
    top = tmp_path / "repository"
    make_repository(top, [Step("add", {"a.cu": NAIVE})])
    (tmp_path / "other.cu").write_text(NAIVE.replace("scale_kernel1", "foreign"))
    (top / "b.cu").symlink_to(tmp_path / "other.cu")
    os.mkfifo(top / "c.cu")
    (top / ".klineage").mkdir()
    victim = tmp_path / "victim.sqlite"
    victim.write_bytes(b"precious")
    (top / ".klineage" / "cache.sqlite").symlink_to(victim)
    before = {p: p.lstat().st_mtime_ns for p in top.rglob("*") if ".git" not in p.parts}
    mined = mine(top, jobs=1)
    assert [line.kernel for line in mined.lineages] == ["scale_kernel1"]
    assert {p: p.lstat().st_mtime_ns for p in top.rglob("*") if ".git" not in p.parts} == before
    assert victim.read_bytes() == b"precious"


def _with_places_outside(top: Path, absolute: Path) -> None:
    """A commit made by hand, whose trees name places that git would not check out, and one after it without them."""

    def git(*arguments: str, data: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-C", str(top), *arguments], input=data, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def made(kind: str, data: bytes) -> str:
        return git("hash-object", "-t", kind, "-w", "--literally", "--stdin", data=data)

    def tree(**entries: str) -> str:
        of_folder = {name: git("cat-file", "-t", sha) == "tree" for name, sha in entries.items()}
        lines = (
            (b"40000 " if of_folder[name] else b"100644 ") + name.encode() + b"\0" + bytes.fromhex(sha)
            for name, sha in entries.items()
        )
        return made("tree", b"".join(lines))

    blob = made("blob", NAIVE.encode())
    up = tree(**{"evil.cu": blob})
    for _ in range(5):
        up = tree(**{"..": up})
    whole = tree(**{"..": up, ".git": tree(**{"evil.cu": blob}), str(absolute): blob, "a.cu": blob})
    evil = git(*IDENTITY, "commit-tree", whole, "-p", "HEAD", "-m", "evil")
    git("update-ref", "HEAD", git(*IDENTITY, "commit-tree", "HEAD^{tree}", "-p", evil, "-m", "good"))


IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def test_a_history_that_names_places_outside_writes_nothing_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    temporary = tmp_path.joinpath(*"12345678")
    temporary.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    top = tmp_path / "repository"
    make_repository(top, [Step("add", {"a.cu": NAIVE.replace("factor;", "factor + 1;")})])
    _with_places_outside(top, tmp_path / "evil.cu")
    opened = open_repository(top)
    with trees(opened, "HEAD~1..HEAD") as (before, _after):
        assert before.files == {"a.cu"}
    changed = {
        change.path for commit in read_log(opened, ["HEAD"], ["*.cu"], {}) for change in commit.changes
    }
    assert changed == {"a.cu"}
    assert list(tmp_path.rglob("evil.cu")) == []
    with pytest.raises(RepositoryError, match="no place"), edited_trees(top, {"../evil.cu": b""}):
        pass


def test_coverage_of_a_folder_with_a_link_that_leads_out_names_it(tmp_path: Path):
    from kernel_lineage.coverage.survey import _sources

    top = tmp_path / "sources"
    top.mkdir()
    (tmp_path / "other.cu").write_text("__global__ void foreign(float* x) { x[0] = 1; }")
    (top / "b.cu").symlink_to(tmp_path / "other.cu")
    problems: list[str] = []
    assert list(_sources(top, top, problems)) == []
    assert "b.cu" in problems[0] and LINK in problems[0]


@pytest.mark.parametrize("kind", ["zero", "link out", "loop", "large", "nested"])
def test_a_hostile_submission_is_named_and_hides_no_other(repository: Path, kind: str):
    path = repository / "a.py"
    if kind == "nested":
        path.write_text("x = " + "-" * 200_000 + "1\nclass ModelNew: pass\n")
    else:
        hostile_file(path, kind)
    (repository / "z.py").write_text("class Model: pass\nclass ModelNew: pass\n")
    problems = {one.name: one.problem for one in submissions(repository)}
    assert problems.pop("z.py") == ""
    assert all("cannot be read" in problem or "parse" in problem for problem in problems.values())


def test_a_workload_reached_by_name_is_read(repository: Path):
    path = repository / ".klineage" / "workloads" / "good.toml"
    path.write_text(WORKLOAD)
    assert load_workload(path).kernel == "twice"


@pytest.mark.parametrize(
    "link", [".klineage", ".klineage/workloads", ".klineage/skills", ".klineage/skills/learned"]
)
@pytest.mark.parametrize("there", [True, False], ids=["to a folder", "to nothing yet"])
def test_nothing_is_written_where_a_link_leads_out_of_the_repository(tmp_path: Path, link: str, there: bool):
    top, outside = tmp_path / "repository", tmp_path / "theirs"
    (top / ".git").mkdir(parents=True)
    (top / "kernels.cu").write_text(NAIVE)
    (top / link).parent.mkdir(parents=True, exist_ok=True)
    (top / link).symlink_to(outside)
    if there:
        outside.mkdir()
    if "skills" not in link:
        done = CliRunner().invoke(workload, ["init", f"{top / 'kernels.cu'}:scale_kernel1", "--no-record"])
        assert isinstance(done.exception, RefusedFile) and "leads out of" in str(done.exception), done.output
    if "workloads" not in link:
        with pytest.raises(RefusedFile, match="nothing is written there"):
            write_skill(top / ".klineage" / "skills", a_skill("learned"), CASES)
        with pytest.raises(RefusedFile, match="nothing is written there"):
            write_in_repository(top / ".klineage" / "skills" / "learned" / "evidence" / "a.json", b"{}")
    assert outside.is_dir() == there and not list(outside.rglob("*"))
