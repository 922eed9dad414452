"""The command itself: help, version, wrong use."""

from click.testing import CliRunner

from kernel_lineage.cli.main import main


def test_help_says_what_it_is_for():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "only through the gate" in " ".join(result.output.split())


def test_an_unknown_command_is_wrong_use():
    result = CliRunner().invoke(main, ["frobnicate"])
    assert result.exit_code == 2
    assert "No such command" in result.output
