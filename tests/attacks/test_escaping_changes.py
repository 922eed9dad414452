"""Changes of a kernel that are made somewhere else: in another file, under another name, by several edits.

`klineage gate --since` and the hook of coding agents must see each of them, and leave alone what changes no kernel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from history.repositories import Step, git, make_repository
from kernel_lineage.cli.commands.hook import command as hook
from kernel_lineage.history.git import is_as_committed, open_repository
from kernel_lineage.history.trees import trees
from kernel_lineage.learning.changed_kernels import changed_kernels, changes_between
from kernel_lineage.learning.gated_edits import EditGate

RUN = "void run(float* o, const float* x, int n) { s<<<1, 32>>>(o, x, n); }\n"
HEAD = "__global__ void s(float* o, const float* x, int n)"
BODY = "{ int i = threadIdx.x; if (i < n) o[i] = F * x[i]; }\n"
KERNEL = f"{HEAD} {BODY}"
OTHER = "{ o[0] = n; for (int k = 0; k < 7; ++k) o[k] += x[k] / 3 - sqrtf(x[2 * k]); __syncthreads(); }\n"
TWO, THREE = "#define F 2\n", "#define F 3\n"
Files = dict[str, str | None]


def including(name: str) -> str:
    return f'#include "{name}"\n{KERNEL}{RUN}'


def from_header(name: str) -> tuple[Files, Files]:
    return {"a.cu": including(name), name: TWO}, {name: THREE}


TRITON = """\
import triton
import triton.language as tl
{}

@triton.jit
def s(o, x, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(o + i, tl.load(x + i) * F)


def run(o, x):
    s[(1,)](o, x, 32)
"""
JIT = "@triton.jit\ndef f(x):\n    tl.store(x, {})\n"


def taking(words: str) -> str:
    return TRITON.format(words)


def in_branches(one: int) -> str:
    branch = ["    " + line for line in JIT.format(one).splitlines()]
    other = ["    " + line for line in JIT.format(7).splitlines()]
    call = "def run(x):\n    f[(1,)](x)\n"
    head = "import os\nimport triton\nimport triton.language as tl\n"
    return "\n".join([f"{head}if os.name:", *branch, "else:", *other, call])


CHANGES: dict[str, tuple[Files, Files]] = {
    **{f"a header {name}": from_header(name) for name in (
        "f.h", "f.inc", "f.hh", "f.hxx", "f.tpp", "f.txt", "f.def", "f.CUH", "f.cpp", "f", "deep/er/f.x")},
    "a header in the kernel's body": (
        {"a.cu": f'{HEAD} {{\n#include "b.txt"\n}}\n{RUN}', "b.txt": "o[0] = 1;\n"}, {"b.txt": "o[0] = 2;\n"}),
    "a header that a macro names": (
        {"a.cu": f'#define B "f.txt"\n#include B\n{KERNEL}{RUN}', "f.txt": TWO}, {"f.txt": THREE}),
    "a header whose name a macro makes": (
        {"a.cu": f"#define Q(x) #x\n#include Q(f.txt)\n{KERNEL}{RUN}", "f.txt": TWO}, {"f.txt": THREE}),
    "a header behind a comment and over two lines": (
        {"a.cu": f'/* */ #inc\\\nlude "f.t\\\nxt"\n{KERNEL}{RUN}', "f.txt": TWO}, {"f.txt": THREE}),
    "a file that is asked for and comes": (
        {"a.cu": f'#if __has_include("o.txt")\n{THREE}#else\n{TWO}#endif\n{KERNEL}{RUN}'}, {"o.txt": ""}),
    "a header that another one takes in": (
        {"a.cu": including("f.h"), "f.h": '#include "g.txt"\n', "g.txt": TWO}, {"g.txt": THREE}),
    "a header that hid another goes": (
        {"k/a.cu": including("f.h"), "k/f.h": TWO, "f.h": THREE}, {"k/f.h": None}),
    "a header that hides another comes": ({"k/a.cu": including("f.h"), "f.h": THREE}, {"k/f.h": TWO}),
    "a kernel in a .cc": ({"a.cc": TWO + KERNEL + RUN}, {"a.cc": THREE + KERNEL + RUN}),
    "a kernel in a .inc": ({"a.cu": f'#include "k.inc"\n{RUN}', "k.inc": TWO + KERNEL},
                           {"k.inc": THREE + KERNEL}),
    "moved to another file and rewritten": (
        {"a.cu": TWO + KERNEL + RUN}, {"a.cu": RUN, "b.cu": f"{HEAD} {OTHER}"}),
    "moved, renamed and rewritten, launched as before": (
        {"a.cu": TWO + KERNEL + RUN},
        {"a.cu": RUN.replace("s<<<", "t<<<") + f"{HEAD} {OTHER}".replace("void s", "void t")}),
    "put in its place where it is launched": (
        {"a.cu": TWO + KERNEL + RUN},
        {"a.cu": TWO + KERNEL + f"{HEAD} {OTHER}".replace("void s", "void t") + RUN.replace("s<<<", "t<<<")}),
    "the first of two of one name": (
        {"a.cu": TWO + KERNEL + KERNEL.replace("float", "double") + RUN},
        {"a.cu": TWO + KERNEL.replace("F *", "5 *") + KERNEL.replace("float", "double") + RUN}),
    "the first of two in the branches of a module": ({"a.py": in_branches(2)}, {"a.py": in_branches(3)}),
    "a module that is named whole": (
        {"p/__init__.py": "", "p/a.py": taking("from . import c").replace("* F", "* c.F"), "p/c.py": "F = 2\n"},
        {"p/c.py": "F = 3\n"}),
    "a module that is taken by a star": (
        {"p/__init__.py": "", "p/a.py": taking("from .c import *"), "p/c.py": "F = 2\n"}, {"p/c.py": "F = 3\n"}),
    "a package that hid a module goes": (
        {"p/__init__.py": "", "p/a.py": taking("from .c import F"), "p/c/__init__.py": "F = 2\n", "p/c.py": "F = 3\n"},
        {"p/c/__init__.py": None}),
    "a package that hides a module comes": (
        {"p/__init__.py": "", "p/a.py": taking("from .c import F"), "p/c.py": "F = 3\n"},
        {"p/c/__init__.py": "F = 2\n"}),
}  # fmt: skip


def made(folder: Path, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Path:
    make_repository(folder, [Step("Add", before)])
    for path in before:
        assert (folder / path).exists()
    write(folder, after)
    return folder


def write(top: Path, files: Mapping[str, str | None]) -> None:
    for path, text in files.items():
        if text is None:
            (top / path).unlink()
            continue
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)


@pytest.fixture(autouse=True)
def _kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))


def changed(top: Path) -> list[str]:
    with trees(open_repository(top), "HEAD") as (before, after):
        return [pair.after.kernel.name for pair in changed_kernels(before, after)]


@pytest.mark.parametrize("name", CHANGES)
def test_a_kernel_that_is_changed_from_elsewhere_is_changed(tmp_path: Path, name: str):
    top = made(tmp_path / "repository", *CHANGES[name])
    assert changed(top) in (["s"], ["t"], ["f"], ["s", "t"])
    assert not is_as_committed(open_repository(top))


def asked(top: Path, path: str, text: str) -> str:
    """What the hook says of the edit that leaves this text; "" when it lets it pass."""
    edit = {"file_path": str(top / path), "content": text}
    call = {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": edit, "cwd": str(top)}
    done = CliRunner().invoke(hook, input=json.dumps(call))
    assert done.exit_code in (0, 2)
    return done.stderr


@pytest.mark.parametrize("name", [n for n, (_, after) in CHANGES.items() if list(after.values()) != [None]])
def test_the_hook_refuses_the_edits_that_lead_there(tmp_path: Path, name: str):
    before, after = CHANGES[name]
    top = made(tmp_path / "repository", before, {})
    refused = []
    for path, text in after.items():
        if refusal := asked(top, path, text or ""):
            refused.append(refusal)
        else:
            write(top, {path: text})
    assert len(refused) == 1 and "that the gate has not accepted" in refused[0], refused


def test_a_kernel_that_is_copied_changed_and_then_removed_is_refused_and_can_be_gated(tmp_path: Path):
    top = made(tmp_path / "repository", {"a.cu": TWO + KERNEL + RUN}, {})
    assert asked(top, "b.cu", THREE + KERNEL) == ""
    write(top, {"b.cu": THREE + KERNEL})
    assert "`s` (b.cu:2)" in asked(top, "a.cu", RUN)
    with EditGate(top).changed("a.cu", RUN.encode()) as (pairs, _after):
        assert [(pair.before.path, pair.after.path) for pair in pairs] == [("a.cu", "b.cu")]


TWICE = "import triton\n\n\n@triton.jit\ndef twice(x):\n    return x * 2\n"
IMPORTING = """\
import triton, triton.language as tl
from {module} import twice


@triton.jit
def kernel(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, twice(tl.load(x + i, mask=i < n)), mask=i < n)
"""
UNCHANGED: dict[str, tuple[Files, Files]] = {
    "a header that nothing takes in": ({"a.cu": including("f.h"), "f.h": TWO, "g.h": ""}, {"g.h": THREE}),
    "words that no directive names": ({"a.cu": TWO + KERNEL + RUN, "notes.txt": ""}, {"notes.txt": "F 3\n"}),
    "a macro of a header that nothing uses": (
        {"a.cu": including("f.txt"), "f.txt": TWO}, {"f.txt": TWO + "#define G 3\n"}),
    "a name that the kernel does not take": (
        {"p/__init__.py": "", "p/a.py": taking("from .c import F"), "p/c.py": "F = 2\nG = 2\n"},
        {"p/c.py": "F = 2\nG = 3\n"}),
    "moved with its launch": ({"a.cu": TWO + KERNEL + RUN}, {"a.cu": "\n", "b.cu": TWO + KERNEL + RUN}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_changes_no_kernel_is_none(tmp_path: Path, name: str):
    before, after = UNCHANGED[name]
    top = made(tmp_path / "repository", before, {})
    assert [asked(top, path, text or "") for path, text in after.items()] == [""] * len(after)
    write(top, after)
    assert changed(top) == []


def test_a_header_behind_a_link_is_part_of_both_states(tmp_path: Path):
    top = made(tmp_path / "repository", {"k/a.cu": including("l.h"), "f.h": TWO}, {})
    (top / "k" / "l.h").symlink_to("../f.h")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "link")
    assert changed(top) == [] and is_as_committed(open_repository(top))
    write(top, {"f.h": THREE})
    assert changed(top) == ["s"]


def test_kernels_that_are_new_or_gone_are_named(tmp_path: Path):
    top = made(
        tmp_path / "repository",
        {"a.cu": TWO + KERNEL + RUN},
        {"a.cu": "\n", "b.cu": OTHER.join(["__global__ void t(float* o, const float* x, long n) ", "\n"])},
    )
    with trees(open_repository(top), "HEAD") as (before, after):
        changes = changes_between(before, after)
    assert ([s.kernel.name for s in changes.new], [s.kernel.name for s in changes.gone]) == (["t"], ["s"])


@pytest.mark.parametrize("name", ["f.h", "notes.md"])
@pytest.mark.parametrize("how", ["checked out", "committed", "edited"])
def test_a_submodule_that_moves_is_not_judged_where_kernels_may_include_it(
    tmp_path: Path, name: str, how: str
):
    other = made(tmp_path / "other", {name: TWO}, {})
    top = made(tmp_path / "repository", {"a.cu": including("f.h")}, {})
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "third")
    git(top, "commit", "-qm", "third")
    assert changed(top) == [] and is_as_committed(open_repository(top))
    write(top, {f"third/{name}": THREE})
    if how != "edited":
        git(top / "third", "commit", "-qam", "three")
    if how == "committed":
        git(top, "commit", "-qam", "third is at three")
    with trees(open_repository(top), "HEAD~1..HEAD" if how == "committed" else "HEAD") as (before, after):
        unread = changes_between(before, after).unread
    paths = [one.path for one in unread]
    assert paths == (["third"] if name == "f.h" or how == "committed" else [])


@pytest.mark.parametrize("module", ["third.helpers", "helpers", "helpers.more", "other.helpers"])
def test_a_submodule_that_moves_is_not_judged_where_triton_kernels_may_import_it(tmp_path: Path, module: str):
    other = made(tmp_path / "other", {"python/helpers.py": TWICE}, {})
    top = made(tmp_path / "repository", {"a.py": IMPORTING.format(module=module)}, {})
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "third")
    git(top, "commit", "-qm", "third")
    assert changed(top) == []
    write(top, {"third/python/helpers.py": TWICE.replace("2", "3")})
    with trees(open_repository(top), "HEAD") as (before, after):
        unread = changes_between(before, after).unread
    assert [one.path for one in unread] == ([] if module == "other.helpers" else ["third"])
