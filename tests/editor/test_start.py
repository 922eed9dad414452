"""How the server starts: over a socket too, and without what only other commands need."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

from lsprotocol import types
from pytest_lsp import client_capabilities, make_test_lsp_client

HEAVY = ("openai", "z3", "triton", "torch", "pycuda", "pynvml", "numpy", "git", "rich", "jinja2")
LOADED = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from lsprotocol import types
from kernel_lineage.editor.server import EditorServer

async def main():
    server = EditorServer()
    uri = Path(sys.argv[1]).as_uri()
    server.documents.open(types.TextDocumentItem(uri, "cuda-cpp", 1, Path(sys.argv[1]).read_text()))
    for line in range(6):
        at = types.TextDocumentPositionParams(types.TextDocumentIdentifier(uri), types.Position(line, 56))
        await server.protocol.fm.features["textDocument/hover"](types.HoverParams(at.text_document, at.position))
    snapshot = await server.documents.snapshot(uri)
    assert await server.applicability.at(snapshot, snapshot.source.kernels[0])
    server.documents.shutdown()

asyncio.run(main())
print(json.dumps(sorted(sys.modules)))
"""


def test_after_a_hover_nothing_heavy_is_loaded(scale, tmp_path):
    command = [sys.executable, "-c", LOADED, str(scale), str(tmp_path)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [name for name in HEAVY if f'"{name}"' in loaded] == []


def test_checks_load_nothing_heavy_where_an_editor_is_answered():
    program = "import json, sys, kernel_lineage.editor.checks; print(json.dumps(sorted(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert [name for name in HEAVY if f'"{name}"' in loaded] == []


async def test_over_a_socket(scale):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kernel_lineage", "serve", "--tcp", str(port)), stderr=subprocess.PIPE
    )
    try:
        assert b"waiting for an editor" in await server.stderr.readline()
        client = make_test_lsp_client()
        while True:
            try:
                await client.start_tcp("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
            else:
                break
        params = types.InitializeParams(capabilities=client_capabilities("visual-studio-code"))
        answer = await client.initialize_session(params)
        assert answer.server_info.name == "klineage"
        await client.shutdown_session()
    finally:
        if server.returncode is None:
            server.terminate()
        await server.wait()


def test_an_editor_that_vanishes_takes_the_server_with_it():
    command = [sys.executable, "-m", "kernel_lineage", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdin.close()
        assert server.wait(timeout=60) in (0, 1)  # 1: it still loads when the time for an orderly end is over


CLASSES = """
import builtins, sys
from kernel_lineage.editor.compiled import KEPT, compiled_once
own, texts = compile, []
builtins.compile = lambda text, *more, **named: (texts.append(text), own(text, *more, **named))[1]
with compiled_once():
    from lsprotocol import types
assert types.Position(1, 2) == types.Position(1, 2) != types.Position(1, 3)
print(sum("attr_dict" in str(t) or "__init__" in str(t) for t in texts), KEPT)
"""


def test_the_code_of_the_protocols_classes_is_compiled_once(tmp_path):
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}

    def start() -> tuple[int, Path]:
        words = subprocess.run(
            [sys.executable, "-c", CLASSES], capture_output=True, text=True, check=True, env=environment
        ).stdout.split()
        return int(words[0]), Path(words[1])

    compiled, kept = start()
    assert compiled > 400 and kept.is_relative_to(tmp_path)
    assert start()[0] == 0
    kept.write_bytes(kept.read_bytes()[:1000])
    assert start()[0] > 400
    assert start()[0] == 0


ANOTHER_ATTRS = """
import attr._make
def other(script, globs, locs=None, name="", mode="exec"): eval(compile(script, name, mode), globs, locs)
attr._make._compile_and_eval = other
"""


def test_attrs_that_compiles_its_code_in_another_way_is_left_alone(tmp_path):
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    words = subprocess.run(
        [sys.executable, "-c", ANOTHER_ATTRS + CLASSES],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    ).stdout.split()
    assert int(words[0]) > 400 and not Path(words[1]).exists()
