"""The recipe for Neovim in docs/editors.md, run as it stands in a Neovim without a screen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from editor.test_check import SUM

needs_neovim = pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim on PATH")
DOCS = Path(__file__).parents[2] / "docs" / "editors.md"
ASK = """
local answer = {}
vim.cmd('edit sum.cu')
vim.wait(60000, function() return #vim.lsp.buf_get_clients(0) > 0 end, 50)
vim.wait(WAIT, function()
  answer.diagnostics = vim.diagnostic.get(0)
  return #answer.diagnostics > 0
end, 50)
vim.fn.cursor(1, 18)
local hover = vim.lsp.buf_request_sync(0, 'textDocument/hover', vim.lsp.util.make_position_params(), 20000)
for _, one in pairs(hover or {}) do answer.hover = one.result and one.result.contents.value end
vim.fn.writefile({ vim.fn.json_encode(answer) }, 'answer.json')
for _, client in pairs(vim.lsp.get_active_clients()) do client.stop() end
vim.wait(5000, function() return #vim.lsp.get_active_clients() == 0 end)
vim.cmd('quitall!')
"""


def asked(folder: Path, trusted: Path, wait: int) -> dict[str, Any]:
    """What an editor with the recipe shows of a kernel with a race in a folder, with one folder trusted."""
    (recipe,) = re.findall(r"```lua\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    command = ", ".join(repr(word) for word in [sys.executable, "-m", "kernel_lineage", "serve"])
    assert "'klineage', 'serve'" in recipe and "'~/kernels'" in recipe
    recipe = recipe.replace("init_options = { ", "init_options = { checkSeconds = 60, ")
    recipe = recipe.replace("'klineage', 'serve'", command).replace("'~/kernels'", repr(str(trusted)))
    folder.mkdir()
    (folder / "recipe.lua").write_text(recipe, "utf-8")
    (folder / "ask.lua").write_text(ASK.replace("WAIT", str(wait)), "utf-8")
    (folder / "sum.cu").write_text(SUM.replace("    __syncthreads();\n    for", "    for"), "utf-8")
    words = ["nvim", "--headless", "--clean", "-n", "-c", "luafile recipe.lua", "-c", "luafile ask.lua"]
    subprocess.run(words, cwd=folder, timeout=150, check=True, stdin=subprocess.DEVNULL)
    answer: dict[str, Any] = json.loads((folder / "answer.json").read_text("utf-8"))
    return answer


@needs_neovim
@pytest.mark.long
def test_the_recipe_shows_a_race_and_a_card(tmp_path):
    answer = asked(tmp_path / "kernels", tmp_path / "kernels", 90000)
    (race,) = answer["diagnostics"]
    assert race["code"] == "race"
    assert "race on shared buf[" in race["message"]
    assert answer["hover"].startswith("**block_sum** · CUDA C++ kernel")


@needs_neovim
@pytest.mark.long
def test_the_recipe_runs_nothing_beside_the_folders_that_it_names(tmp_path):
    (tmp_path / "kernels").mkdir()
    answer = asked(tmp_path / "kernels-of-others", tmp_path / "kernels", 4000)
    assert answer["diagnostics"] == []
    assert "this workspace is not trusted" in answer["hover"]
