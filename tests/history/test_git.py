"""Reading git: every sort of repository, and none of its programs."""

import shutil
from pathlib import Path

import pytest

from executable_files import write_executable
from history.repositories import NAIVE, Step, git, make_repository
from kernel_lineage.history.git import RepositoryError, open_repository, read_log
from kernel_lineage.history.mine import mine

FASTER = NAIVE.replace("inp[i] * factor", "__ldg(&inp[i]) * factor")
TWO = [Step("add", {"a.cu": NAIVE}), Step("read-only loads", {"a.cu": FASTER})]


def versions(folder: Path, **options: object) -> list[tuple[str, str]]:
    mined = mine(folder, use_cache=False, **options)
    return [(v.path, v.symbol) for line in mined.lineages for v in line.versions]


def test_a_bare_clone(tmp_path: Path):
    make_repository(tmp_path / "a", TWO)
    git(tmp_path, "clone", "-q", "--bare", "a", "b.git")
    assert len(versions(tmp_path / "b.git")) == 2
    assert not (tmp_path / "b.git" / ".klineage").exists()


def test_a_shallow_clone_says_that_it_is_one(tmp_path: Path):
    make_repository(tmp_path / "a", TWO)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}/a", "b")
    mined = mine(tmp_path / "b")
    assert [len(line.versions) for line in mined.lineages] == [1]
    assert any("shallow" in message for message in mined.messages)


def test_a_partial_clone_counts_what_is_missing_and_fetches_nothing(tmp_path: Path):
    make_repository(tmp_path / "a", TWO)
    git(tmp_path / "a", "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{tmp_path}/a", "b")
    shutil.rmtree(tmp_path / "a")
    mined = mine(tmp_path / "b")
    assert [len(line.versions) for line in mined.lineages] == [1]
    assert sum(mined.skipped.values()) == 1
    assert "missing blob" in next(iter(mined.skipped))


def test_a_linked_worktree(tmp_path: Path):
    make_repository(tmp_path / "a", TWO)
    git(tmp_path / "a", "worktree", "add", "-q", "--detach", "../b")
    assert len(versions(tmp_path / "b")) == 2


def test_a_subfolder_is_mined_alone(tmp_path: Path):
    make_repository(tmp_path, [Step("add", {"one/a.cu": NAIVE, "two/b.cu": FASTER})])
    assert versions(tmp_path / "two") == [("two/b.cu", "scale_kernel1")]


def test_paths_limit_what_is_mined(tmp_path: Path):
    make_repository(tmp_path, [Step("add", {"one/a.cu": NAIVE, "two/b.cu": FASTER})])
    assert versions(tmp_path, paths=("one/*.cu",)) == [("one/a.cu", "scale_kernel1")]


@pytest.mark.parametrize("by", ["revision", "date"])
def test_since_starts_from_the_version_before(tmp_path: Path, by: str):
    first, second = make_repository(tmp_path, TWO)
    since = first if by == "revision" else git(tmp_path, "show", "-s", "--format=%cI", second)
    (lineage,) = mine(tmp_path, since=since, use_cache=False).lineages
    assert [v.commit for v in lineage.versions] == [first, second]


def test_submodules_and_symbolic_links_are_passed_over(tmp_path: Path):
    make_repository(tmp_path / "inner", TWO)
    make_repository(tmp_path / "outer", [Step("add", {"a.cu": NAIVE})])
    outer = tmp_path / "outer"
    git(
        outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "inner"), "lib.cu"
    )
    (outer / "link.cu").symlink_to("a.cu")
    git(outer, "add", "-A")
    git(outer, "commit", "-qm", "a submodule and a link")
    assert versions(outer) == [("a.cu", "scale_kernel1")]


def test_no_commit_yet(tmp_path: Path):
    git(tmp_path, "init", "-q")
    mined = mine(tmp_path)
    assert mined.head is None and mined.lineages == ()
    assert any("no commit" in message for message in mined.messages)


def test_no_kernels(tmp_path: Path):
    make_repository(tmp_path, [Step("docs", {"README.md": "hello", "a.py": "x = 1\n"})])
    assert mine(tmp_path).lineages == ()


def test_not_a_repository_says_what_to_do(tmp_path: Path):
    with pytest.raises(RepositoryError, match="git init"):
        mine(tmp_path)
    with pytest.raises(RepositoryError, match="no such folder"):
        mine(tmp_path / "nowhere")


@pytest.mark.parametrize("damage", [3, -20], ids=["head", "end"])
def test_a_corrupt_blob_is_counted_and_the_rest_goes_on(tmp_path: Path, damage: int):
    make_repository(tmp_path, [Step("add", {"a.cu": NAIVE, "b.cu": FASTER})], checkout=False)
    blob = git(tmp_path, "rev-parse", "HEAD:a.cu")
    loose = tmp_path / ".git" / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(loose.read_bytes()[:damage])
    mined = mine(tmp_path, use_cache=False)
    assert [v.path for line in mined.lineages for v in line.versions] == ["b.cu"]
    assert sum(mined.skipped.values()) == 1


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("binary.cu", b"\x7fELF\0\0__global__ void f() {}\0"),
        ("large.cu", b"__global__ void f() {}\n" * 220_000),
        ("latin.cu", NAIVE.encode() + "// größer\n".encode("latin-1")),
        ("half.cu", NAIVE.encode() + b"\n__global__ void half(float* x) { if (x["),
        ("half.py", b"import triton\n@triton.jit\ndef f(x_ptr, n:\n  x = ("),
    ],
)
def test_a_bad_file_does_not_keep_the_others_from_being_read(tmp_path: Path, name: str, data: bytes):
    make_repository(tmp_path, [Step("add", {"good.cu": FASTER, name: data})])
    assert ("good.cu", "scale_kernel1") in versions(tmp_path)


def test_nothing_of_the_repositorys_configuration_runs(tmp_path: Path):
    make_repository(tmp_path, TWO)
    trap = tmp_path / "trap"
    write_executable(trap, f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    (tmp_path / ".gitattributes").write_text("*.cu filter=evil diff=evil\n")
    for key in (
        "core.fsmonitor",
        "gpg.program",
        "diff.external",
        "core.pager",
        "filter.evil.clean",
        "diff.evil.textconv",
    ):
        git(tmp_path, "config", key, str(trap))
    git(tmp_path, "config", "log.showSignature", "true")
    (tmp_path / "a.cu").write_text(NAIVE)
    assert len(versions(tmp_path)) == 3
    assert not (tmp_path / "sprung").exists()


def test_a_merge_that_changes_a_kernel_beyond_its_parents_is_a_version(tmp_path: Path):
    left = NAIVE.replace("factor;", "factor + 1;")
    right = NAIVE + "\n__global__ void other(float* p) { p[0] = 1; }\n"
    both = right.replace("factor;", "2 * factor;")
    ids = make_repository(
        tmp_path,
        [
            Step("add", {"a.cu": NAIVE}),
            Step("left", {"a.cu": left}),
            Step("right", {"a.cu": right}, parent=0),
            Step("merge", {"a.cu": both}, parent=1, merges=2),
        ],
    )
    repository = open_repository(tmp_path)
    skipped: dict[str, int] = {}
    (merge,) = [c for c in read_log(repository, ["HEAD"], ["*.cu"], skipped) if c.commit.sha == ids[3]]
    assert merge.changes[0].parents[0][0] == "a.cu"
    assert ids[3] in {v.commit for line in mine(tmp_path, use_cache=False).lineages for v in line.versions}


def test_a_folder_that_cannot_be_written_is_mined_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    make_repository(tmp_path, TWO)
    (tmp_path / "file").write_text("a file where the folder would be")
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "file"))
    mined = mine(tmp_path)
    assert len(mined.lineages[0].versions) == 2
    assert any("cannot be used" in message for message in mined.messages)
