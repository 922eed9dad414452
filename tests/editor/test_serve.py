"""Where the server may listen."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from kernel_lineage.cli.main import main
from kernel_lineage.editor.serve import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("5007", Address("127.0.0.1", 5007)),
        ("localhost:5007", Address("localhost", 5007)),
        ("[::1]:5007", Address("::1", 5007)),
    ],
)
def test_addresses_of_this_machine(text, address):
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    ("text", "says"),
    [("0.0.0.0:5007", "SSH tunnel"), ("build.example:5007", "SSH tunnel"), ("x", "PORT"), ("70000", "PORT")],
)
def test_other_addresses_are_refused_with_the_reason(text, says):
    result = CliRunner().invoke(main, ["serve", "--tcp", text])
    assert result.exit_code == 2
    assert says in result.output
