"""A repository whose own configuration names programs for git to run: no git of ours runs one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from attacks.wire import Editor
from executable_files import write_executable
from history.repositories import Step, git, make_repository
from kernel_lineage.agents.hook.decide import ungated

KERNEL = "__global__ void scale(float* x) {{ x[threadIdx.x] *= {factor}; }}\n"
PROGRAMS = (
    *("core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand", "core.editor"),
    *("gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program", "diff.external"),
    *("diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process"),
    *("merge.evil.driver", "remote.origin.uploadpack", "credential.helper", "pager.show", "pager.log"),
)  # fmt: skip
OTHERS = {
    "format.pretty": "%G? %H",
    "log.showSignature": "true",
    "diff.submodule": "diff",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
}
SIGNED = """\
tree {tree}
parent {parent}
author A <a@example.org> 1700000000 +0000
committer A <a@example.org> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 AAAA
 -----END PGP SIGNATURE-----

Faster
"""


class Trapped:
    """The repository, and what of its configuration has run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._sprung = folder / "repository", folder / "sprung"
        attributes = "* filter=evil diff=evil merge=evil\n"
        (parent,) = make_repository(
            self.folder, [Step("Add", {"a.cu": KERNEL.format(factor=2), ".gitattributes": attributes})]
        )
        (self.folder / "a.cu").write_text(KERNEL.format(factor=3))
        git(self.folder, "add", "a.cu")
        signed = SIGNED.format(tree=git(self.folder, "write-tree"), parent=parent)
        new = subprocess.run(
            ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
            input=signed.encode(), cwd=self.folder, capture_output=True, check=True,
        ).stdout.decode().strip()  # fmt: skip
        git(self.folder, "update-ref", "HEAD", new)
        make_repository(folder / "remote", [Step("Add", {"a.cu": KERNEL.format(factor=2)})])
        hooks = folder / "hooks"
        hooks.mkdir()
        for key in (*PROGRAMS, "post-checkout", "post-index-change", "reference-transaction"):
            write_executable(hooks / key, f"#!/bin/sh\necho {key} >> {self._sprung}\ncat\n")
        for key in PROGRAMS:
            git(self.folder, "config", key, str(hooks / key))
        settings = {**OTHERS, "core.hooksPath": str(hooks), "remote.origin.url": str(folder / "remote")}
        for key, value in settings.items():
            git(self.folder, "config", key, value)
        (self.folder / "a.cu").write_text(KERNEL.format(factor=4))
        self._sprung.unlink(missing_ok=True)

    def lose(self, revision: str) -> None:
        """Remove an object, as a partial clone lacks it."""
        blob = git(self.folder, "rev-parse", revision)
        (self.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
        self._sprung.unlink(missing_ok=True)

    @property
    def sprung(self) -> list[str]:
        """What has run."""
        return self._sprung.read_text().split() if self._sprung.exists() else []


@pytest.fixture
def trapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trapped:
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    return Trapped(tmp_path)


def test_the_traps_spring_for_others(trapped: Trapped):
    git(trapped.folder, "diff", "--name-only", "HEAD", check=False)
    git(trapped.folder, "log", "-1", check=False)
    assert {"filter.evil.process", "gpg.openpgp.program"} <= set(trapped.sprung)


def test_the_hook_after_a_shell_runs_nothing_of_the_configuration(trapped: Trapped):
    assert "`scale` of a.cu" in (ungated(trapped.folder) or "")
    assert trapped.sprung == []


def test_the_views_of_commits_and_versions_run_nothing_of_the_configuration(trapped: Trapped):
    editor = Editor(trapped.folder, dict(os.environ))
    try:
        editor.start(trusted=True, device="emulated", check="off")
        uri = editor.open(trapped.folder / "a.cu")
        at = {"uri": uri, "line": 0, "character": 18}
        editor.hover(uri, 0, 18)
        assert editor.mined(60) == "ready"
        rows = editor.command("klineage.view", {"view": "lineage", **at})["result"]["nodes"]
        assert len(rows) == 3
        trapped.lose("HEAD:a.cu")
        for row in rows:
            asked = {"uri": uri, "kernel": "scale", "version": row["data"]["version"]}
            for command in ("klineage.commit", "klineage.version"):
                assert "result" in editor.command(command, asked)
    finally:
        editor.close()
    assert trapped.sprung == []
