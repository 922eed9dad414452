"""Texts that nest or chain without end: cut alike everywhere and named, never an error, and the rest is mined."""

import time
from pathlib import Path

import pytest
from lsprotocol.types import PositionEncodingKind

from attacks.wire import Editor
from history.repositories import NAIVE, Step, make_repository
from kernel_gate.workload import WorkloadError, parse_workload
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.workload_files.meant import Meant
from kernel_lineage.editor.workload_files.open_files import LONGEST, TOO_LONG
from kernel_lineage.editor.workload_files.problems import problems
from kernel_lineage.history.analysis import analyse
from kernel_lineage.history.facts import Task
from kernel_lineage.history.mine import mine
from kernel_lineage.kernels import guards
from kernel_lineage.kernels.budget import MOST_DEPTH, MOST_LAUNCHES, MOST_OPERATORS, beyond_budget
from kernel_lineage.kernels.guards import guards_of
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language

CUDA = "__global__ void k(float* x, int n) {{ int i = threadIdx.x;\n{}\n}}\n"
TRITON = """\
import triton
import triton.language as tl
@triton.jit
def k(x, n, B: tl.constexpr):
    i = tl.program_id(0)
{}
"""
CHAIN = "1+" * 200_000 + "1"
BEYOND = {
    "a chain": (Language.CUDA, f"x[i] = {CHAIN};"),
    "an index": (Language.CUDA, f"x[{CHAIN}] = 1;"),
    "conditions": (
        Language.CUDA,
        "if (" + " && ".join(f"i < n + {j}" for j in range(12_000)) + ") x[i] = 1;",
    ),
    "unbraced ifs": (Language.CUDA, "".join(f"if (i < n - {j}) " for j in range(11_000)) + "x[i] = 1;"),
    "brackets": (Language.CUDA, "x[i] = " + "(" * 40_000 + "1" + ")" * 40_000 + ";"),
    "blocks": (Language.CUDA, "{" * 40_000 + "}" * 40_000),
    "a chain in Triton": (Language.TRITON, f"    tl.store(x, {CHAIN})"),
    "brackets in Triton": (Language.TRITON, "    tl.store(x, " + "(" * 9000 + "1" + ")" * 9000 + ")"),
}


def text_of(language: Language, body: str) -> str:
    return (CUDA if language is Language.CUDA else TRITON).format(body)


@pytest.mark.parametrize("name", BEYOND)
def test_a_text_beyond_the_budget_is_not_read_and_says_which_line(name: str):
    language, body = BEYOND[name]
    text = text_of(language, body)
    (problem,) = read(text.encode(), language).problems
    assert "not read" in problem.message and problem.message.startswith("line ")
    facts = analyse(Task("d", language, "k", (text,)))
    assert facts.mechanisms == () and "not read" in facts.cut


SIZES = (
    "x[i] = {};".format("1+" * (MOST_OPERATORS - 10) + "1"),
    "x[i] = " + "(" * (MOST_DEPTH - 10) + "1" + ")" * (MOST_DEPTH - 10) + ";",
    "".join(f"if (i < n - {j}) {{" for j in range(MOST_DEPTH - 10)) + "x[i] = 1;" + "}" * (MOST_DEPTH - 10),
    "if (" + " && ".join(f"i < n + {j}" for j in range(MOST_OPERATORS // 4)) + ") x[i] = 1;",
    "x[i] = " + "i ? 1 : " * (MOST_OPERATORS // 2 - 10) + "1;",
    "x[i] = " + "-" * (MOST_OPERATORS - 10) + "1;",
)


@pytest.mark.parametrize("body", SIZES, ids=range(len(SIZES)))
def test_a_text_just_within_the_budget_raises_nothing(body: str):
    source = read(text_of(Language.CUDA, body).encode(), Language.CUDA)
    for kernel in source.kernels:
        guards_of(kernel)
        mechanisms_of(kernel)
    analyse(Task("d", Language.CUDA, "k", (text_of(Language.CUDA, body),)))


def test_tables_comments_and_strings_are_no_chains():
    table = "__constant__ int t[] = {" + "-1, " * 30_000 + "0};\n"
    rule = "/" + "*" * 9000 + "/\n//" + "-" * 9000 + "\n"
    string = 'const char* s = "' + "+(" * 5000 + '";\n'
    for text in (table, rule, string, "/* " * 20_000):
        assert beyond_budget((text + NAIVE).encode(), Language.CUDA) is None, text[:20]
    lines = "# " + "-" * 9000 + '\n"""' + "=" * 9000 + '"""\n' + "t = [" + "1,\n" * 9000 + "]\n"
    assert beyond_budget(lines.encode(), Language.TRITON) is None


def test_of_many_launch_sites_the_first_are_looked_at_and_it_is_said(monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(guards, "launcher_guards", lambda source, launch: asked.append(launch) or ())
    host = "void h(float* x) {" + "k<<<1, 2>>>(x, 3);\n" * 3000 + "}"
    facts = analyse(Task("d", Language.CUDA, "k", (CUDA.format("x[i] = 1;"), host)))
    assert len(asked) == MOST_LAUNCHES and facts.cut.startswith("3000 launch sites")


def test_what_was_cut_is_named_by_mining_and_hides_no_other_kernel(tmp_path: Path):
    chained = text_of(*BEYOND["a chain"])
    steps = [
        Step("add", {"a.cu": NAIVE, "b.cu": chained}),
        Step("more", {"b.cu": chained.replace("i]", "i+1]")}),
    ]
    make_repository(tmp_path / "r", steps)
    mined = mine(tmp_path / "r", jobs=1)
    (message,) = mined.messages
    assert message.startswith(
        "Not all was read in 2 versions of b.cu: k: line 2: a statement chains more than"
    )
    assert {line.kernel for line in mined.lineages} == {"k", "scale_kernel1"}
    assert mine(tmp_path / "r", jobs=1) == mined


LONG_KEY = "a" + ".a" * 9000 + " = 1\n"


@pytest.mark.parametrize("text", [LONG_KEY, f"[{LONG_KEY[:-5]}]\n", "x = " + "[" * 50_000 + "]" * 50_000])
def test_toml_that_nests_without_end_is_refused_in_words(text: str):
    with pytest.raises(WorkloadError, match="not valid TOML"):
        parse_workload(text)


MANY = {
    "problems": "".join(f"[t{i}]\n" for i in range(7000)),
    "arguments": '[[args]]\nname = "z"\n' * 2500,
    "sizes": f"[dims]\nn = {list(range(9000))}\n",
    "keys": LONG_KEY,
}


@pytest.mark.parametrize("what", MANY)
def test_a_workload_in_the_editor_is_looked_through_within_bounds(tmp_path: Path, what: str):
    text = Text.of(MANY[what], PositionEncodingKind.Utf16)
    assert len(text.data) <= LONGEST
    assert 0 < len(problems(tmp_path / "w.toml", text, Meant())) <= 50


@pytest.mark.long
def test_a_workload_that_is_too_long_for_the_editor_is_said(tmp_path: Path):
    path = tmp_path / ".klineage" / "workloads" / "w.toml"
    path.parent.mkdir(parents=True)
    path.write_text("# long\n" * 10_000)
    editor = Editor(tmp_path)
    try:
        editor.start(trusted=False)
        uri = editor.open(path)
        assert editor.hover(uri, 0, 0).get("result") is None
        for _ in range(200):
            published = [
                n["params"] for n in editor.notified if n["method"] == "textDocument/publishDiagnostics"
            ]
            if published:
                break
            time.sleep(0.05)
        assert [d["message"] for d in published[0]["diagnostics"]] == [TOO_LONG]
    finally:
        editor.close()


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ("[9223372036854775807]", r"N: 9223372036854775807 is more than 2\^40"),
        (str([*range(1, 60_000)]), "at most 1000 extents"),
    ],
)
def test_sizes_that_no_array_has_are_refused_before_anything_is_counted(dims: str, message: str):
    from kernel_gate.workload import WorkloadError, parse_workload
    from rewrite.conftest import WORKLOAD

    with pytest.raises(WorkloadError, match=message):
        parse_workload(WORKLOAD.replace("[64, 4096]", dims))
    assert parse_workload(WORKLOAD.replace("[64, 4096]", f"[{1 << 40}]"))
