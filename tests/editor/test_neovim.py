"""The recipe for Neovim in docs/editors.md, run as it stands in a Neovim without a screen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from editor.test_check import SUM

DOCS = Path(__file__).parents[2] / "docs" / "editors.md"
ASK = """
local answer = {}
vim.cmd('edit sum.cu')
vim.wait(90000, function()
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


@pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim on PATH")
def test_the_recipe_shows_a_race_and_a_card(tmp_path):
    (recipe,) = re.findall(r"```lua\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    command = ", ".join(repr(word) for word in [sys.executable, "-m", "kernel_lineage", "serve"])
    assert "'klineage', 'serve'" in recipe
    (tmp_path / "recipe.lua").write_text(recipe.replace("'klineage', 'serve'", command), "utf-8")
    (tmp_path / "ask.lua").write_text(ASK, "utf-8")
    (tmp_path / "sum.cu").write_text(SUM.replace("    __syncthreads();\n    for", "    for"), "utf-8")
    words = ["nvim", "--headless", "--clean", "-n", "-c", "luafile recipe.lua", "-c", "luafile ask.lua"]
    subprocess.run(words, cwd=tmp_path, timeout=150, check=True, stdin=subprocess.DEVNULL)
    answer = json.loads((tmp_path / "answer.json").read_text("utf-8"))
    (race,) = answer["diagnostics"]
    assert race["code"] == "race"
    assert "race on shared buf[" in race["message"]
    assert answer["hover"].startswith("**block_sum** · CUDA C++ kernel")
