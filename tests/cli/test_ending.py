"""Errors that a user has to know of end a command with their sentence and a status."""

import importlib

import click
import pytest
from click.testing import CliRunner

from kernel_lineage.cli.ending import ENVIRONMENT, NOT_JUDGED, STATUS, WRONG_USE, status_of
from kernel_lineage.cli.main import _LazyGroup


def named(name: str) -> type[Exception]:
    module, _, kind = name.partition(":")
    return getattr(importlib.import_module(module), kind)


@pytest.mark.parametrize("name", STATUS)
def test_every_named_error_is_there_and_ends_a_command(name):
    kind = named(name)
    group = _LazyGroup("klineage")

    @group.command()
    def fail() -> None:
        raise kind("what is wrong")

    group.get_command = lambda _context, _name: fail
    done = CliRunner().invoke(group, ["fail"])
    assert done.exit_code == STATUS[name]
    assert done.stderr == "what is wrong\n"


def test_statuses_are_those_of_the_gate():
    from kernel_gate.standing import ExitCode

    assert (WRONG_USE, ENVIRONMENT, NOT_JUDGED) == (
        ExitCode.WRONG_USE,
        ExitCode.ENVIRONMENT,
        ExitCode.NOT_JUDGED,
    )


def test_the_nearest_named_kind_decides():
    from kernel_lineage.workloads.on_the_spot import NoWorkloadError
    from kernel_lineage.workloads.programs import UnknownKernelError

    assert status_of(NoWorkloadError("none")) == NOT_JUDGED
    assert status_of(UnknownKernelError("none")) == WRONG_USE


@pytest.mark.parametrize("error", [ValueError("ours"), click.exceptions.Exit(3)])
def test_other_errors_go_on(error):
    assert status_of(error) is None
