"""Workload files in the editor: what is wrong is shown at its line, and what can be written is offered."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from editor.conftest import SCALE
from editor.session import LANGUAGES, session
from editor.test_apply import WORKLOAD
from kernel_gate.workload import parse_workload
from kernel_gate.workload_schema import ONE_OR_MANY, render, workload_schema
from kernel_lineage.editor.text import Text
from kernel_lineage.editor.workload_files.completing import completions, hover
from kernel_lineage.editor.workload_files.meant import Meant, meant_by
from kernel_lineage.editor.workload_files.places import entries, nearest
from kernel_lineage.editor.workload_files.problems import problems

LANGUAGES[".toml"] = "plaintext"
TOML = """\
kernel = "scale" # = "x"
args = [ # one table each
    { name = "x" },
]

[dims]
N = [1, 3]
"C" = 256

[[launches]]
memset = "x"
[[launches]]
kernel = '''scale'''
configs = { a = 1 }
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    (tmp_path / "scale.cu").write_text(SCALE, "utf-8")
    path = tmp_path / ".klineage" / "workloads" / "scale.toml"
    path.parent.mkdir(parents=True)
    path.write_text(WORKLOAD, "utf-8")
    return path


def found_in(path: Path, text: str) -> list[tuple[str, str]]:
    """Each problem as the line's text and the message."""
    lines = text.splitlines()
    diagnostics = problems(path, Text(text.encode()), meant_by(path, text))
    return [(lines[p.range.start.line].strip(), p.message) for p in diagnostics]


def test_keys_are_where_they_stand():
    places = {e.path: TOML[e.start : e.end] for e in entries(TOML.encode())}
    assert places[("args",)].startswith("args = [ # one") and places[("args",)].endswith("]")
    assert places[("dims", "C")] == '"C" = 256'
    assert places[("launches", 1)] == "[[launches]]"
    assert places[("launches", 1, "kernel")] == "kernel = '''scale'''"
    near = nearest(entries(TOML.encode()), ("launches", 0, "KernelLaunch", "grid"))
    assert near is not None
    assert near.path == ("launches", 0)


@given(st.text(alphabet="[]{}=\"'\\#.,\n ab1-é", max_size=60))
def test_half_written_texts_are_read(text):
    parsed = entries(text.encode())
    assert all(0 <= e.start <= e.value <= e.end <= len(text.encode()) for e in parsed)
    completions(Text(text.encode()), types.Position(0, len(text) // 2), Meant())
    try:
        whole = tomllib.loads(text)
    except ValueError:
        return
    assert {str(key) for key in whole} == {str(e.path[0]) for e in parsed if e.path}


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ('kind = "output"', 'kind = "ouput"', 'kind = "ouput"', "args[0].kind: Input should be"),
        ("[launch]", "[lunch]", "[lunch]", "lunch: Extra inputs are not permitted"),
        ('dtype = "float32"', 'dtype = "float"', 'dtype = "float"', "'float' is not one of float64"),
        ("grid = ", "grib = ", "grib = ", "launch.grib: Extra inputs are not permitted"),
        ('value = "C"', 'value = "K"', 'value = "K"', "`K` is not known here"),
        ("[launch]", "[launch", "[launch", "not TOML: Expected ']'"),
    ],
)
def test_a_mistake_is_shown_at_its_line(workload, old, new, line, part):
    text = WORKLOAD.replace(old, new, 1)
    assert text != WORKLOAD
    shown = found_in(workload, text)
    assert any(where.startswith(line) and part in message for where, message in shown), shown


def test_what_follows_from_a_mistake_is_not_told_beside_it(workload):
    head, args = WORKLOAD.split("[[args]]", 1)
    one = f"{head}[[args]]{args.split('[[args]]', 1)[0]}[launch]\ngrid = [3]\n"
    assert [line for line, _ in found_in(workload, one.replace('"output"', '"ouput"'))] == ['kind = "ouput"']


def test_what_the_kernel_says_otherwise_is_a_warning(workload):
    assert found_in(workload, WORKLOAD) == []
    wrong = WORKLOAD.replace('name = "alpha"', 'name = "alfa"')
    assert found_in(workload, wrong) == [
        ('name = "alfa"', "scale has no parameter `alfa`; did you mean `alpha`?")
    ]
    wide = WORKLOAD.replace('dtype = "float32"', 'dtype = "float64"', 1)
    assert [message for _, message in found_in(workload, wide)] == ["`out` of scale is float32, not float64"]


def offered(workload: Path, text: str) -> list[str]:
    """The labels that are offered at `|`."""
    before, _, after = text.partition("|")
    whole = Text((before + after).encode())
    position = types.Position(before.count("\n"), len(before.rpartition("\n")[2]))
    return [item.label for item in completions(whole, position, meant_by(workload, before + after))]


def test_keys_values_and_the_kernels_names_are_offered(workload):
    head = 'kernel = "scale"\nlanguage = "cuda"\nsource = "scale.cu"\n'
    assert "promises" in offered(workload, head + "pro|")
    assert "kernel" not in offered(workload, head + "|")
    assert "[[args]]" in offered(workload, head + "[|")
    assert offered(workload, 'kernel = |\nsource = "scale.cu"\n') == ['"scale"']
    argument = head + '[dims]\nN = 3\nC = [4]\n[[args]]\nname = "out"\n[[args]]\n'
    assert offered(workload, argument + 'name = "|"') == ['"x"', '"alpha"', '"C"']
    assert offered(workload, argument + 'name = "x"\nkind = |')[:2] == ['"output"', '"input"']
    assert offered(workload, argument + 'name = "x"\ndtype = "|')[0] == '"float32"'
    assert '"integers(lo, hi)"' in offered(workload, argument + "values = |")
    assert offered(workload, argument + 'shape = ["N", "|"]') == ["N", "C"]
    assert offered(workload, argument + "noalias = |") == ["true", "false"]
    assert "values" in offered(workload, argument + "|")
    assert "grid" not in offered(workload, argument + "|")
    assert offered(workload, head + "[launch]\nnum_warps = 4\nnum_|") != []
    assert offered(workload, head + "# a note|") == []


def test_what_is_chosen_takes_the_place_of_what_was_written(workload):
    text = Text(b'[[args]]\nkind = "in"\n')
    (item,) = [i for i in completions(text, types.Position(1, 10), Meant()) if i.label == '"input"']
    assert isinstance(item.text_edit, types.TextEdit)
    start, end = (text.offset(p) for p in (item.text_edit.range.start, item.text_edit.range.end))
    assert text.replaced(start, end, item.text_edit.new_text.encode()).data == b'[[args]]\nkind = "input"\n'


def test_a_key_says_what_it_is_for():
    shown = hover(Text(b"[[args]]\nnoalias = true\n"), types.Position(1, 2))
    assert shown is not None
    assert "no caller passes memory that overlaps" in str(shown.contents)
    assert hover(Text(b"nonsense = 1\n"), types.Position(0, 2)) is None


def test_the_schema_is_the_models():
    root = Path(__file__).parents[2]
    schema = workload_schema()
    assert (root / "extension" / "workload.schema.json").read_text("utf-8") == render() + "\n"
    assert '"null"' not in json.dumps(schema)
    fields = [f for t in (schema, *schema["$defs"].values()) for f in t["properties"].values()]
    assert [field for field in fields if not field.get("description")] == []
    one = tomllib.loads(WORKLOAD)
    for key in ONE_OR_MANY[:2]:
        one["launch"][key] = 32
    assert set(one) <= set(schema["properties"])
    parse_workload('kernel = "k"\nlanguage = "cuda"\ndims = {N = 3}\nargs = [{name = "x", kind = "output", '
                   'dtype = "int32", shape = [3]}]\nlaunch = {grid = 1, block = 32}\n')  # fmt: skip


@pytest.mark.long
async def test_an_editor_is_told_and_asks(workload):
    async with session(workload.parents[2], {"trusted": False}) as editor:
        uri = editor.open(workload, WORKLOAD.replace('kind = "output"', 'kind = "out"'))
        while not editor.client.diagnostics.get(uri):
            await asyncio.sleep(0.02)
        (wrong,) = editor.client.diagnostics[uri]
        assert wrong.range.start.line == editor.position(uri, 'kind = "out"').line
        at = editor.position(uri, 'kind = "out"')
        at.character += len('kind = "ou')
        asked = types.CompletionParams(types.TextDocumentIdentifier(uri), at)
        answer = await editor.client.text_document_completion_async(asked)
        assert '"output"' in [item.label for item in answer]
        assert (await editor.card(uri, "kind =")).startswith("What the kernel does with it")
        editor.replace(uri, 'kind = "out"', 'kind = "output"')
        while editor.client.diagnostics.get(uri):
            await asyncio.sleep(0.02)
        editor.close(uri)
