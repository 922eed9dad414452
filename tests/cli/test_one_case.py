"""Running one case of a failed check again."""

import json

from click.testing import CliRunner

from gate.programs import AFFINE, WORKLOAD
from kernel_lineage.cli.main import main
from kernel_lineage.cli.one_case import repeated


def test_the_command_line_of_one_case_keeps_all_but_the_options_of_a_case():
    words = ["gate", "a b.cu", "c.cu", "--seed", "3", "--kernel", "k", "--case=N=1"]
    assert (
        repeated(words, "--case N=3 --seed 5") == "klineage gate 'a b.cu' c.cu --kernel k --case N=3 --seed 5"
    )


def test_a_failing_case_is_run_again_by_the_options_that_the_verdict_gives(tmp_path):
    broken = AFFINE.replace("i < n", "i < n && n != 37")
    for name, text in (("a.cu", AFFINE), ("b.cu", broken), ("w.toml", WORKLOAD)):
        (tmp_path / name).write_text(text)
    line = ["gate", str(tmp_path / "a.cu"), str(tmp_path / "b.cu"), "--kernel", "affine", "--no-cache"]
    line += ["--workload", str(tmp_path / "w.toml"), "--device", "emulated", "--json"]
    first = json.loads(CliRunner().invoke(main, line).stdout)
    details = first["stages"][1]["details"]
    again = CliRunner().invoke(main, [*line, *details["repeat"].split()])
    assert again.exit_code == 1
    assert json.loads(again.stdout)["reason"] == first["reason"]
    refused = CliRunner().invoke(main, [*line, "--case", "N=1"])
    assert refused.exit_code == 2 and "exactly the dims N, C" in refused.output
