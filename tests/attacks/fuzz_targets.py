"""What is fuzzed: each reader of text that others write, with the one way in which it may refuse."""

# Messages and seeds read best in one line each.
# ruff: noqa: E501

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
import tomllib
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from attacks.hostile_words import CARD, CARRIER, WORDS, WORKLOAD
from attacks.wire import Editor, ServerEndedError
from history.repositories import NAIVE, Step, make_repository
from kernel_gate.cleaning import cleaned
from kernel_gate.emulated.ptx.model import PtxError
from kernel_gate.emulated.ptx.parser import parse as parse_ptx
from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.invariants.grammar import InvariantError, read_assertion, read_tag
from kernel_gate.workload import WorkloadError, load_workload
from kernel_lineage.cache_file import CACHE
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history.mine import mine
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.model.answer import AnswerError, parse_answer
from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.conditions.stated import StatedFactError, stated_facts
from kernel_lineage.skills.library import builtin_folder, load
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.preprocessed import active_text
from kernel_lineage.workloads.recording.build import RecordingError
from kernel_lineage.workloads.recording.call import Call, Parameter
from kernel_lineage.workloads.recording.drafting import recorded_draft
from kernel_lineage.workloads.recording.failed import Failed
from kernel_lineage.workloads.recording.includes import without_kernels
from kernel_lineage.workloads.recording.launches import launch_of
from kernel_lineage.workloads.recording.mending import mended
from kernel_lineage.workloads.recording.series import Series
from kernel_lineage.workloads.recording.sizes_written import with_sizes
from workloads.recording.test_recorder import EXTENSION, PROGRAM

_REPOSITORY = Path(__file__).parents[2]
_HISTORY = _REPOSITORY / "server" / "kernel_lineage" / "demo" / "history"
_TOKENS = (
    *(
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "<<<",
        ">>>",
        "=",
        "==",
        "%",
        "/",
        "//",
        "/*",
        "*/",
        '"""',
        "'",
    ),
    *(
        "\\\n",
        "\n",
        "\0",
        "#if 0\n",
        "#define A A(A)\n",
        "template <",
        "operator",
        "0x",
        "1e999",
        "-1",
        "2**99999",
    ),
    *(
        "__global__",
        "extern",
        "@triton.jit\n",
        "def ",
        "lambda: ",
        "tl.load",
        "\ud83d\ude00",
        "\u202e",
        "\xff",
    ),
    *(
        "9" * 5000,
        "(" * 300,
        "a." * 300,
        "-" * 2000,
        "not " * 300,
        "[[a]]\n",
        "a.b.c = {}\n",
        "nan",
        "inf",
        "2024-99-99",
        "[" * 3000,
        "a: 2024-13-41\n",
    ),
)


def _files(folder: Path, suffix: str, most: int) -> list[str]:
    return [p.read_text("utf-8")[:4000] for p in sorted(folder.rglob(f"*{suffix}"))][:most]


@st.composite
def edited(draw: st.DrawFn, seeds: list[str]) -> str:
    """A text that is right, with a few pieces removed, doubled, moved or put in."""
    text = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 60)))
        piece = draw(
            st.one_of(
                st.just(""), st.just(text[start:end] * 2), st.sampled_from(_TOKENS), st.text(max_size=8),
                st.sampled_from(seeds).map(lambda seed: seed[:200]),
            )
        )  # fmt: skip
        text = text[:start] + piece + text[end:]
    return text


def texts(seeds: list[str]) -> st.SearchStrategy[str]:
    """Mostly texts that are nearly right."""
    return st.one_of(edited(seeds), edited(seeds), edited(seeds), st.text(max_size=200))


@dataclass(frozen=True)
class Target:
    """One reader: what it is given, and what it may raise."""

    name: str
    inputs: st.SearchStrategy[str]
    reads: Callable[[str], object]
    refuses: tuple[type[Exception], ...] = ()
    cost: int = 1
    """How long an input takes, against the others."""

    def run(self, text: str) -> None:
        """Read it; what is raised beyond a refusal is a crash."""
        try:
            self.reads(text)
        except self.refuses:
            return


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _source(language: Language) -> Callable[[str], object]:
    def reads(text: str) -> None:
        for kernel in read(_bytes(text), language).kernels:
            mechanisms_of(kernel)
            tuple(anchors_of(kernel))

    return reads


def _workload(text: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "workload.toml"
        path.write_bytes(_bytes(text))
        load_workload(path)


def _skill(text: str) -> None:
    card, _, carrier = text.partition("\0")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "hostile"
        folder.mkdir()
        (folder / "conditions.toml").write_bytes(_bytes(card))
        (folder / "SKILL.md").write_bytes(_bytes(carrier or CARRIER))
        load(Path(name), builtin=False)


def _model_answer(text: str) -> None:
    parse_answer(text, "kernel scale")


LAUNCH = {
    "kernel": "void brighten<float, 2>(float*, Image, int const*, float)", "call": "", "grid": [45, 1, 1],
    "block": [64, 1, 1], "cluster": [1, 1, 1], "shared": 0, "cooperative": False,
    "arguments": [
        {"type": "float*", "alignment": 8, "bytes": "00f0d444447f0000", "pointers": [[0, {"buffer": 0, "offset": 0,
         "bytes": 11520, "how": "unset", "name": "", "dtype": "", "shape": [], "strides": []}]]},
        {"type": "Image", "alignment": 8, "bytes": "00b0d444447f00003000000000000000", "pointers": [[0, {"null": True}]]},
        {"type": "const int*", "alignment": 8, "bytes": "0020c444447f0000", "pointers": [[0, {"buffer": 2, "offset": 0,
         "bytes": 11520, "how": "data", "name": "x", "dtype": "int32", "shape": [60, 48], "strides": [48, 1], "low": 0,
         "high": 2879}]]},
        {"type": "float", "alignment": 4, "bytes": "0000c03f", "pointers": []},
    ],
}  # fmt: skip
"""A launch as the recording runtime tells of it."""


class _Recorded:
    """A draft of what a program told of its launches, line by line: the first at the sizes as they are written."""

    def __init__(self) -> None:
        (self.kernel,) = (k for k in read(PROGRAM.encode(), Language.CUDA).kernels if k.name == "brighten")
        self.unit = unit_of(active_text(PROGRAM))

    def read(self, text: str) -> None:
        launches = []
        for line in text.splitlines():
            with suppress(ValueError):
                launches.append(launch_of(line))
        if not launches or len(launches[0].arguments) != len(self.kernel.parameters):
            return
        samples = tuple(({"seed": 20 + 20 * n, "SIDE": 48}, launch) for n, launch in enumerate(launches))
        series = Series({"seed": 20, "SIDE": 48}, samples, "main", said=(text[:40],))
        draft = recorded_draft(self.kernel, self.kernel, "code.cu", self.unit, series)
        written = tomllib.loads(draft.text)
        assert (written["kernel"], written["source"]) == ("brighten", "code.cu")
        assert written.keys() <= {
            "kernel",
            "language",
            "source",
            "dims",
            "profile_dims",
            "args",
            "launches",
            "launch",
        }


def _failed_check(text: str) -> None:
    kinds = ("T", "oT", "vT", "i", "ob", "f", "s")
    parameters = tuple(Parameter(f"a{n}", kind) for n, kind in enumerate(kinds))
    call = Call(parameters, {"a0": 2, "a1": 3}, {"a0": "float32"})
    for _ in range(3):
        for option in list(mended(call, Failed.of(text.split("\t"))))[:6]:
            assert len(option.line({})) < 100_000
            call = option


def _host_code(text: str) -> None:
    text = _bytes(text).decode("utf-8", "replace")  # as files are read
    without_kernels(text)
    with_sizes(text)
    unit_of(active_text(text))


def _drafts(language: Language) -> Callable[[str], object]:
    """A reader that drafts a workload for the kernels of a text from the host code around them."""

    def reads(text: str) -> None:
        data = _bytes(text)
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / ".git").mkdir()
            path = Path(name) / ("code.cu" if language is Language.CUDA else "code.py")
            path.write_bytes(data)
            for kernel in read(data, language).kernels[:2]:
                draft_of(kernel, path, measure=False)

    return reads


class _Mined:
    """A repository that is mined from a cache in which one row was replaced."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="klineage-fuzz-"))
        steps = [Step(f"step {n}", {"a.cu": NAIVE.replace("factor;", f"factor + {n};")}) for n in range(3)]
        make_repository(self.folder / "r", steps)
        self.expected = mine(self.folder / "r", jobs=1).lineages

    def read(self, text: str) -> None:
        """The row that the text names by its first word gets the rest, sealed as if we had written it."""
        cache = kept_in(self.folder / "r") / CACHE
        table, _, value = text.partition(" ")
        columns = {"files": "blob", "texts": "digest", "facts": "digest", "walks": "key", "pieces": "key"}
        with sqlite3.connect(cache) as db:
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")] if table in columns else []
            if names:
                for (key,) in db.execute(f"SELECT {names[0]} FROM {table}").fetchall():
                    data = _bytes(value)
                    seal = zlib.crc32(data, zlib.crc32(str(key).encode())).to_bytes(4, "little")
                    db.execute(f"UPDATE {table} SET {names[1]} = ? WHERE {names[0]} = ?", (seal + data, key))
        db.close()
        mine(self.folder / "r", jobs=1)
        shutil.rmtree(kept_in(self.folder / "r"), ignore_errors=True)
        assert mine(self.folder / "r", jobs=1).lineages == self.expected


class _Server:
    """One server that gets message after message, and must answer what is right after each."""

    def __init__(self) -> None:
        self.editor: Editor | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="klineage-fuzz-"))
        (self.folder / "a.cu").write_text(NAIVE)

    def read(self, text: str) -> None:
        if self.editor is None:
            self.editor = Editor(self.folder)
            self.editor.start()
            self.editor.open(self.folder / "a.cu")
        if '"exit"' in text or '"shutdown"' in text or "didClose" in text:
            return  # these end a session or a document, as they should
        try:
            body = _bytes(text)
            self.editor.send(body)
            uri = (self.folder / "a.cu").as_uri()
            at = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 20}}
            answer = self.editor.ask("textDocument/hover", at, 20)
            assert "result" in answer, answer
        except (ServerEndedError, AssertionError):
            self.editor.process.kill()
            self.editor = None
            raise


_URI = "file:///tmp/a.cu"
_AT = {"textDocument": {"uri": _URI}, "position": {"line": 0, "character": 20}}
_RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 3}}
_MESSAGES = [
    json.dumps({"jsonrpc": "2.0", **({"id": 7} if asks else {}), "method": method, "params": params})
    for method, params, asks in (
        ("textDocument/hover", _AT, True),
        ("textDocument/codeAction", {"textDocument": {"uri": _URI}, "range": _RANGE, "context": {"diagnostics": []}}, True),
        ("codeAction/resolve", {"title": "x", "data": {"uri": _URI}}, True),
        ("workspace/executeCommand", {"command": "klineage.apply", "arguments": [{"uri": _URI, "line": 1}]}, True),
        ("workspace/executeCommand", {"command": "klineage.check", "arguments": [{"uri": _URI, "line": 1}]}, True),
        ("workspace/executeCommand", {"command": "klineage.lineage", "arguments": [{"uri": _URI, "line": 1}]}, True),
        ("textDocument/didOpen", {"textDocument": {"uri": _URI, "languageId": "cuda-cpp", "version": 1, "text": NAIVE}}, False),
        ("textDocument/didChange", {"textDocument": {"uri": _URI, "version": 2}, "contentChanges": [{"range": _RANGE, "text": "x"}]}, False),
        ("textDocument/didSave", {"textDocument": {"uri": _URI}}, False),
        ("workspace/didChangeConfiguration", {"settings": {"klineage": {"trusted": True}}}, False),
        ("$/cancelRequest", {"id": 7}, False),
        ("$/setTrace", {"value": "verbose"}, False),
        ("window/workDoneProgress/cancel", {"token": "x"}, False),
        ("initialize", {"capabilities": {}, "processId": None, "rootUri": None}, True),
    )
]  # fmt: skip
_PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    setp.ge.s32 %p1, %r1, 4;
    @%p1 bra DONE;
    st.global.u32 [%rd1+4], %r1;
DONE:
    ret;
}
"""
_CONDITIONS = ["C % 4 == 0 and N * C <= 2147483647", 'not kernel.has("warp_shuffle") or align(x) == 16',
               "dtype(x) == float32 and N in (1, 2, 3)", "ceil_div(N, 4) * 4 >= N", "device.sms > 64 * -1"]  # fmt: skip
_ROWS = [f"{t} {v}" for t in ("files", "texts", "facts", "walks", "pieces")
         for v in ("[]", "{}", "null", "1", '"x"', '[["a",1,2,"b"]]', '{"version": 1, "items": [[]]}', "[" * 50)]  # fmt: skip


_CHECKS = ["x.dim() == 3\t2\t==\t3\tthree extents\ta0,dim,0", "x.size(2) % 8 == 0\t\t\t\tx\ta0,size,1 a1,size,2",
           "x.sizes()\t4,5,6\t==\t4,6,6\t\ta0,sizes,0", "a3 > 0\t1\t>\t2\ta2\ta0,type,0", "rank\t1\t==\t2"]  # fmt: skip


ROWS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows(out_ptr, x_ptr, n, step, scale, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(0) * step
    tl.store(out_ptr + row + at, tl.load(x_ptr + row + at, mask=at < n) * scale, mask=at < n)


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale=2.0):
        rows, n = x.shape
        assert x.stride(-1) == 1 and n % 4 == 0
        out = torch.empty_like(x)
        block = min(1024, triton.next_power_of_2(n))
        scale_rows[lambda meta: (rows, triton.cdiv(n, meta["BLOCK"]))](out, x, n, x.stride(0), scale, BLOCK=block)
        ctx.save_for_backward(x)
        return out


def test_rows():
    for rows, columns in ((4, 96), (3, 1000)):
        x = torch.randn(rows, columns, dtype=torch.float16)
        sizes = [columns * i for i in range(3)]
        Rows.apply(x, sum(sizes) / 3 if rows > 3 else 1.0)
"""


NAMES = ("cuda", "triton", "condition", "fact", "workload", "card", "carrier", "expression", "invariant", "ptx",
         "model answer", "words", "recorded launch", "failed check", "host code", "drafts of cuda", "drafts of triton", "cache row", "message")  # fmt: skip


def targets() -> dict[str, Target]:
    """All of them; made anew, because some hold a process or a folder."""
    mined, server, recorded = _Mined(), _Server(), _Recorded()
    launch = json.dumps(LAUNCH)
    larger = launch.replace("45", "90").replace("11520", "23040").replace("2879", "5759")
    every = (
        Target("cuda", texts([NAIVE, *_files(_HISTORY, ".cu", 12)]), _source(Language.CUDA)),
        Target("triton", texts(_files(_HISTORY, ".py", 12)), _source(Language.TRITON)),
        Target("condition", texts(_CONDITIONS), parse, (ConditionError,)),
        Target("fact", texts(["align(x) = 16, C = 768 | 1024", "dtype(x) = float32"]),
               lambda text: stated_facts(text, "fuzz"), (StatedFactError,)),
        Target("workload", texts([WORKLOAD, *_files(_HISTORY, ".toml", 6)]), _workload, (WorkloadError,)),
        Target("card", texts([CARD, *_files(builtin_folder(), "conditions.toml", 8)]), _skill),
        Target("carrier", texts([CARRIER, *_files(builtin_folder(), "SKILL.md", 4)]).map(lambda t: CARD + "\0" + t), _skill),
        Target("expression", texts(["ceil_div(N, 4) * 2", "min(N, 3) // 2", "N ** 2 % 7"]),
               lambda text: evaluate(text, {"N": 5, "C": 7}), (ExpressionError,)),
        Target("invariant", texts(["sum(row) == 1", "max(x) <= 4, x >= 0", "sorted(out)"]),
               lambda text: (read_assertion(text), read_tag(text)), (InvariantError,)),
        Target("ptx", texts([_PTX]), parse_ptx, (PtxError,)),
        Target("model answer", texts([json.dumps({"range": "kernel scale", "replacement": NAIVE, "launch": None,
               "explanation": WORDS, "declined": None})]), _model_answer, (AnswerError,)),
        Target("words", st.text(max_size=300), lambda text: [cleaned(text, s) for s in ("terminal", "markdown", "html", "log")]),
        Target("recorded launch", texts([launch, f"{launch}\n{larger}"]), recorded.read, (RecordingError,)),
        Target("failed check", texts(_CHECKS), _failed_check),
        Target("host code", texts([PROGRAM, EXTENSION]), _host_code),
        Target("drafts of cuda", texts([PROGRAM, EXTENSION, NAIVE]), _drafts(Language.CUDA), cost=10),
        Target("drafts of triton", texts([ROWS]), _drafts(Language.TRITON), cost=10),
        Target("cache row", texts(_ROWS), mined.read, cost=60),
        Target("message", texts(_MESSAGES), server.read, cost=6),
    )  # fmt: skip
    assert tuple(target.name for target in every) == NAMES
    return {target.name: target for target in every}
