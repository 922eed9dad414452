"""`klineage mine`: the document, the tables, wrong use."""

import json
from pathlib import Path

from click.testing import CliRunner

from history.repositories import Step, make_repository
from history.test_lineages import KERNEL, UNRELATED, WARP
from kernel_lineage.cli.main import main
from kernel_lineage.history.document import MineDocument

STEPS = [
    Step("naive", {"sum.cu": KERNEL}),
    Step("a warp per row, slower on my card", {"sum.cu": WARP.format(name="row_sum")}),
    Step("Revert", {"sum.cu": KERNEL}),
]


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["mine", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_json_is_one_document_with_the_fields_that_others_rely_on(tmp_path: Path):
    ids = make_repository(tmp_path, STEPS)
    code, out, _ = run(tmp_path, "--json")
    document = json.loads(out)
    assert code == 0
    assert MineDocument.model_validate(document)
    assert {"version", "repository", "commits", "kernels", "lineages"} <= document.keys()
    assert (document["commits"], document["kernels"]) == (3, 1)
    (lineage,) = document["lineages"]
    assert {"id", "kernel", "language", "versions", "transitions"} <= lineage.keys()
    assert [v["commit"] for v in lineage["versions"]] == ids
    assert {"id", "path", "symbol", "commit", "lines"} <= lineage["versions"][0].keys()
    assert lineage["versions"][0]["lines"] == [1, 10]
    there, back = lineage["transitions"]
    assert {"id", "from", "to", "kind", "intent", "mechanisms", "commit", "compound", "risk"} <= there.keys()
    assert there["from"] == lineage["versions"][0]["id"]
    assert "warp_shuffle" in there["mechanisms"]["added"]
    assert [r["kind"] for r in there["risk"]] == ["slower", "revert"]
    assert (back["kind"], back["answers"]) == ("revert", there["id"])


def test_the_table_names_each_lineage_and_what_to_type_next(tmp_path: Path):
    make_repository(tmp_path, STEPS)
    code, out, _ = run(tmp_path)
    assert code == 0
    assert "row_sum" in out
    assert "warp shuffle" in out and "warp_shuffle" not in out
    assert f"klineage mine {tmp_path} --kernel row_sum" in out


def test_one_lineage_in_full(tmp_path: Path):
    make_repository(tmp_path, STEPS)
    code, out, _ = run(tmp_path, "--kernel", "row_sum")
    assert code == 0
    assert "a warp per row, slower on my card" in out
    assert "! slower" in out and "because" in out


HALVES = """__global__ void halves(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    BODY
}
void run(float* out, const float* in, int n) { halves<<<(n + 255) / 256, 256>>>(out, in, n); }
"""


def _with_a_fix(folder: Path) -> None:
    bodies = "out[i] = in[i] / 2;", "if (i < n) out[i] = in[i] / 2;"
    messages = "halves of a row", "Fix writes past the end"
    make_repository(
        folder,
        [
            Step(message, {"halves.cu": HALVES.replace("BODY", body)})
            for message, body in zip(messages, bodies, strict=True)
        ],
    )


def test_a_lineage_says_what_its_fixes_teach(tmp_path: Path):
    _with_a_fix(tmp_path)
    code, out, _ = run(tmp_path, "--kernel", "halves")
    assert code == 0
    assert "teaches: the first version needs n % launch.block.x == 0" in out


def test_the_document_says_what_fixes_teach_where_that_is_asked_for(tmp_path: Path):
    _with_a_fix(tmp_path)
    documents = [json.loads(run(tmp_path, "--json", *more)[1]) for more in ((), ("--conditions",))]
    (plain,), (taught,) = (document["lineages"][0]["transitions"] for document in documents)
    assert plain["teaches"] is None
    (condition,) = taught["teaches"]
    assert condition["expr"] == "n % launch.block.x == 0"
    assert (condition["origin"], condition["conditions"]) == ("later fix", None)
    assert "halves.cu:3" in condition["evidence"]


def test_a_kernel_that_is_not_there(tmp_path: Path):
    make_repository(tmp_path, STEPS)
    code, _, err = run(tmp_path, "--kernel", "nothing")
    assert code == 1
    assert "No lineage holds a kernel named nothing" in err


def test_not_a_repository_is_wrong_use(tmp_path: Path):
    code, _, err = run(tmp_path)
    assert code == 2
    assert "not in a git repository" in err


def test_the_screen_has_80_columns_and_is_sorted_by_what_happened(tmp_path: Path):
    folder = (
        tmp_path
        / "a repository in a folder whose name is long enough"
        / "to need a second line of the screen"
    )
    deep = "/".join(["a_long_folder_name"] * 6) + "/sum.cu"
    make_repository(
        folder,
        [
            Step("begin", {deep: KERNEL}),
            Step("a warp per row " * 9, {deep: WARP.format(name="row_sum")}),
            Step(
                "fix the stride of lanes", {deep: WARP.format(name="row_sum").replace("c += 32", "c += 64")}
            ),
        ],
    )
    code, out, _ = run(folder)
    screen = out[: out.index("One lineage in full")]
    assert code == 0
    assert max(map(len, screen.splitlines())) <= 80
    assert screen.index("Optimised: 1 commit\n") < screen.index("Bugs fixed, with the ")
    assert "1 lineage of kernels, 2 changes in 3 commits: 1 optimisation, 1 fix\n" in screen
    assert "…/a_long_folder_name/" in screen and "(mends " in screen


def test_variants_that_came_side_by_side_are_counted_and_are_no_change(tmp_path: Path):
    both = KERNEL.replace("row_sum", "sum_kernel1") + WARP.format(name="sum_kernel2")
    make_repository(tmp_path, [Step("add", {"sum.cu": both})])
    _, out, _ = run(tmp_path)
    assert "0 changes in 1 commit; 1 variant side by side\n" in out and "Optimised" not in out


def test_a_name_of_several_lineages_asks_which(tmp_path: Path):
    make_repository(
        tmp_path, [Step("a", {"a.cu": KERNEL, "b.cu": UNRELATED.replace("histogram", "row_sum")})]
    )
    code, out, _ = run(tmp_path, "--kernel", "row_sum")
    assert code == 2
    assert "2 lineages hold a kernel named row_sum" in out and "--kernel b.cu:row_sum" in out
    code, out, _ = run(tmp_path, "--kernel", "b.cu:row_sum")
    assert code == 0 and "b.cu:1" in out


def test_a_change_of_a_header_is_told_once_with_its_kernels(tmp_path: Path):
    header = "__device__ float f(float x) {{ return {} * x; }}\n"
    kernel = '#include "f.h"\n__global__ void {}(float* x) {{ x[0] = f(x[0]); }}\n'
    files = {"f.h": header.format(2), "a.cu": kernel.format("one"), "b.cu": kernel.format("two")}
    make_repository(tmp_path, [Step("add", files), Step("more", {"f.h": header.format(3)})])
    document = json.loads(run(tmp_path, "--json")[1])
    (shared,) = [s for s in document["shared"] if s["commit"] == document["head"]]
    assert (shared["path"], shared["name"], shared["kernels"]) == ("f.h", "f", ["one", "two"])
    edits = [t for line in document["lineages"] for t in line["transitions"] if t["kind"] == "edit"]
    assert sorted(shared["transitions"]) == sorted(t["id"] for t in edits)
    assert {p["path"] for t in edits for p in t["changed"]} == {"f.h"}
