"""`klineage skills` and `klineage applicable`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_lineage.cli.main import main
from skills.skill_folders import APPLIES, a_skill, write


def run(*args: object):
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write(tmp_path / ".klineage" / "skills", a_skill())
    (tmp_path / "f.cu").write_text(APPLIES + APPLIES.replace(" f(", " g("))
    return tmp_path


def test_list_shows_built_in_and_own_skills(repository: Path) -> None:
    result = run("skills", "list", "--repo", repository)
    assert result.exit_code == 0
    assert "vectorised-row-access" in result.output and "a-skill" in result.output
    document = json.loads(run("skills", "list", "--repo", repository, "--json").stdout)
    assert document["version"] == 1 and "a-skill" in {s["id"] for s in document["skills"]}


def test_show_prints_a_skill_and_helps_with_a_wrong_name(repository: Path) -> None:
    assert "`C % 4 == 0` — C is a multiple of 4" in run("skills", "show", "vectorised-row-access").output
    assert (
        json.loads(run("skills", "show", "a-skill", "--repo", repository, "--json").stdout)["skills"][0]["id"]
        == "a-skill"
    )
    wrong = run("skills", "show", "vectorized-row-access")
    assert wrong.exit_code == 2 and "did you mean `vectorised-row-access`?" in wrong.output


def test_check_finds_and_its_exit_code_says_so(repository: Path) -> None:
    ran = run("skills", "check", repository / ".klineage" / "skills", "--json")
    assert ran.exit_code == 1
    document = json.loads(ran.stdout)
    assert document["checked"] == 1
    assert "nothing on data types" in document["problems"][0]["message"]
    plain = run("skills", "check", repository / ".klineage" / "skills")
    assert plain.exit_code == 1 and "a-skill" in plain.stdout


def test_applicable_prints_one_document(repository: Path) -> None:
    result = run(
        "applicable", f"{repository / 'f.cu'}:g", "--fact", "C = 770", "--skill", "a-skill", "--json"
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["kernel"] == "g"
    assert {s["id"] for s in document["skills"]} == {"a-skill"}
    assert {s["verdict"] for s in document["skills"]} == {"fails"}


def test_applicable_without_a_kernel_speaks_of_each(repository: Path) -> None:
    document = json.loads(run("applicable", repository / "f.cu", "--json").stdout)
    assert document["kernel"] is None
    assert {s["kernel"] for s in document["skills"]} == {"f", "g"}
    cards = run("applicable", repository / "f.cu", "--all").output
    assert "# f (" in cards and "# g (" in cards and "**Valid when**" in cards


def test_applicable_offers_in_a_few_lines_what_an_assist_makes(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    file = tmp_path / "add.cu"
    file.write_text(
        "__global__ void add(const float* a, float* c, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) { c[i] += a[i]; }\n}\n"
        "void launch(const float* a, float* c, int n) { add<<<(n + 255) / 256, 256>>>(a, c, n); }\n"
    )
    lines = run("applicable", file).stdout.splitlines()
    assert lines[0] == f"add ({file}:1)"
    offers = [line for line in lines if "klineage apply" in line]
    assert 1 <= len(offers) <= 5
    vector = next(line for line in offers if "vectorised-row-access" in line)
    assert "uses accepted" in vector
    assert vector.endswith(f"klineage apply vectorised-row-access {file}:add")
    file.write_text(file.read_text().replace("c[i] += a[i];", "c[i] += a[i] + c[n - 1 - i];"))
    assert "klineage apply vectorised" not in run("applicable", file).stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["none.cu"], "cannot be read"),
        (["f.cu:h"], "no kernel `h`; there are f, g"),
        (["f.txt"], "holds no kernels"),
        (["empty.cu"], "no kernel was found"),
        (["f.cu", "--fact", "C is 3"], "states no value"),
        (["f.cu", "--skill", "a-skil"], "did you mean `a-skill`?"),
    ],
)
def test_wrong_use_says_what_to_do(repository: Path, args: list[str], says: str) -> None:
    (repository / "f.txt").write_text("x")
    (repository / "empty.cu").write_text("int a;")
    result = run("applicable", repository / args[0], *args[1:])
    assert result.exit_code == 2
    assert says in result.output
