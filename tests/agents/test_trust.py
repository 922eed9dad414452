"""Trust in a folder: a person gives it on a terminal, and it reaches what lies below."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from click.testing import CliRunner

from kernel_lineage.agents.trust import enough_in, forget, is_trusted, trust, trusted_folders
from kernel_lineage.cli.main import main


def test_a_folder_and_what_lies_below_it(top):
    inner = top / "inner"
    inner.mkdir()
    assert not is_trusted(top) and enough_in(top) == "accepted"
    trust(top, "right")
    trust(inner)
    assert is_trusted(inner) and not is_trusted(top.parent)
    assert (enough_in(top), enough_in(inner)) == ("right", "accepted")
    forget(top)
    assert trusted_folders() == {inner: "accepted"} and is_trusted(inner) and not is_trusted(top)


def test_another_folder_in_the_place_of_a_trusted_one_by_a_link_is_another(top, tmp_path):
    (tmp_path / "link").symlink_to(top)
    trust(top)
    assert is_trusted(tmp_path / "link")
    (tmp_path / "link").unlink()
    (tmp_path / "link").mkdir()
    assert not is_trusted(tmp_path / "link")


def test_a_damaged_list_trusts_nothing(top, tmp_path):
    trust(top)
    (place,) = (tmp_path / "state").rglob("trusted-folders.json")
    place.write_text('{"folders": ["/"]}')
    assert not is_trusted(top) and trusted_folders() == {}


def test_what_an_agent_starts_has_no_terminal_and_cannot_trust(top):
    result = CliRunner().invoke(main, ["trust", str(top)])
    assert result.exit_code == 2 and "a person's to give" in result.stderr
    assert not is_trusted(top)


def test_a_person_trusts_on_a_terminal(top):
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "kernel_lineage", "trust", str(top), "--edits", "right"]
    subprocess.run(words, stdin=theirs, stdout=subprocess.DEVNULL, check=True)
    os.close(ours)
    os.close(theirs)
    assert trusted_folders() == {top: "right"}
