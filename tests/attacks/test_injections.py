"""Injections by code, comments, commits, skills, compiler output and model answers have no effect."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attacks.hostile_words import CARD, CARRIER, KERNEL, WORDS, WORKLOAD
from attacks.injections import (
    CANARY,
    CARD_FIELDS,
    COUNT,
    INJECTIONS,
    WORKLOAD_FIELDS,
    Injection,
    answer_with,
)
from history.repositories import Step, make_repository
from kernel_gate.verdict import Outcome
from kernel_gate.workload import WorkloadError, load_workload
from kernel_lineage.history.mine import mine
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.apply import ApplyRequest, apply
from kernel_lineage.rewrite.document import ApplyDocument
from kernel_lineage.rewrite.materialise import Lane
from kernel_lineage.rewrite.model.client import Patience
from kernel_lineage.rewrite.model.settings import ModelSettings
from kernel_lineage.skills.applicable import applicable
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.library import library
from rewrite.conftest import Judges, verdict
from rewrite.protocol_server import ProtocolServer, Reply

PLAIN = KERNEL.replace(WORDS, "")
FENCE = re.compile(r"BEGIN (\w+ [0-9a-f]{16})\n.*?\nEND \1(?=\n|$)", re.DOTALL)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Effects:
    """What this process does beyond reading, while it is watched. An audit hook stays for good, so there is one."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.allowed: tuple[str, ...] = ()
        self.watching = False
        sys.addaudithook(self._hook)

    @contextmanager
    def watched(self, *allowed: str) -> Iterator[list[str]]:
        """Programs, addresses and folders that are allowed; gives what else was used."""
        self.seen, self.allowed, self.watching = [], allowed, True
        try:
            yield self.seen
        finally:
            self.watching = False

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.watching:
            return
        if event == "subprocess.Popen":
            self._note(event, Path(str(arguments[0])).name)
        elif event in {
            "os.system",
            "os.exec",
            "os.posix_spawn",
            "os.fork",
            "ctypes.dlopen",
            "import os.system",
        }:
            self._note(event, str(arguments))
        elif event == "socket.connect":
            self._note(event, str(arguments[1][0]))  # type: ignore[index]
        elif (
            event == "socket.getaddrinfo"
            or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES)
            or event
            in {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod"}
        ):
            self._note(event, str(arguments[0]))

    def _note(self, event: str, about: str) -> None:
        if about.isdigit() or "__pycache__" in about:  # what was opened before; Python's own
            return
        if not any(about == one or (one.startswith("/") and about.startswith(one)) for one in self.allowed):
            self.seen.append(f"{event} {about}")


@pytest.fixture(scope="module")
def effects() -> Effects:
    return Effects()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("HARMLESS_NAME", CANARY)
    return tmp_path


def made(place: Path, injection: Injection) -> Path:
    """A repository with the words in it; other files, and messages, hold the canary."""
    words, code = injection.words, PLAIN
    if injection.channel == "comment in the kernel":
        code = code.replace("float* row", f"float* /* {words} */ row")
    elif injection.channel == "comment beside the kernel":
        code = f"/* {words} */\n{code}/* {words} */\n"
    message = words if injection.channel == "commit" else CANARY
    hostile = words if injection.channel == "skill" else "Plain."
    card = CARD.replace(_escaped(WORDS), _escaped(hostile)).replace('"Faster rows', '"Faster rows ')
    files = {
        "scale.cu": code,
        "other.cu": f"// {CANARY}\n{PLAIN.replace('scale', 'other')}",
        ".env": f"KEY={CANARY}\n",
        ".klineage/workloads/scale.toml": WORKLOAD,
        ".klineage/skills/hostile/conditions.toml": card,
        ".klineage/skills/hostile/SKILL.md": CARRIER.rpartition("---")[0] + f"---\n\n{hostile}\n",
        ".klineage/skills/hostile/cases/applies/01.before.cu": PLAIN,
        ".klineage/skills/hostile/cases/applies/01.after.cu": PLAIN,
        ".klineage/skills/hostile/cases/refuses/01.cu": PLAIN,
    }
    make_repository(place / "r", [Step(message, {"scale.cu": PLAIN}), Step(f"Speed up\n\n{message}", files)])
    return place / "r"


def _escaped(text: str) -> str:
    return "".join(c if 32 <= ord(c) < 127 and c not in '"\\\\' else f"\\U{ord(c):08x}" for c in text)


def files_of(folder: Path) -> dict[str, str]:
    paths = (p for p in sorted(folder.rglob("*")) if p.is_file() and ".git" not in p.parts)
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}


def attempt(repository: Path, injection: Injection, server: ProtocolServer, judge: Judges) -> ApplyDocument:
    """Have a model carry a skill over; where the words are in a commit, mine before."""
    if injection.channel == "commit":
        mine(repository, jobs=1)
    skill = library(repository).get("hostile" if injection.channel == "skill" else "vectorised-row-access")
    assert skill is not None
    settings = ModelSettings(base_url=server.url, model="m")
    lane = Lane("model", settings, Patience(sleep=lambda _: None))
    request = ApplyRequest(skill, repository / "scale.cu", "scale", lane, device="emulated")
    return apply(request, judge)


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.id)
def test_an_injection_has_no_effect(place: Path, effects: Effects, injection: Injection):
    repository = made(place, injection)
    before = files_of(repository)
    kernel = PLAIN[PLAIN.index("__global__") : PLAIN.index("}\nvoid") + 1]
    words = injection.words
    reply = answer_with(
        words if injection.channel == "answer" else "Plain.", kernel.replace("alpha * row", "row")
    )
    finding = words if injection.channel == "compiler" else "out[3] = 0, expected 1"
    judge = Judges(verdict(Outcome.REJECTED, finding), verdict(Outcome.INCONCLUSIVE, finding))
    with ProtocolServer(Reply(reply)).running() as server:
        kept = (str(place / "kept"), str(place / "state"), "/dev/null")
        with effects.watched("git", "uname", "127.0.0.1", *kept) as seen:
            document = attempt(repository, injection, server, judge)
    assert seen == []
    assert files_of(repository) == before
    assert document.outcome in {"rejected", "inconclusive"} and not document.applied and judge.seen
    assert server.requests
    for request in server.requests:
        assert [m["role"] for m in request["messages"]][:2] == ["system", "user"]
        assert {m["role"] for m in request["messages"][2:]} <= {"user", "assistant"}
        for message in request["messages"]:
            assert CANARY not in message["content"]
            ours = FENCE.sub("", message["content"])
            if message["role"] != "assistant":
                assert words.splitlines()[-1] not in ours, ours


@pytest.mark.parametrize(("old", "new"), CARD_FIELDS.values(), ids=CARD_FIELDS)
def test_a_card_that_asks_for_more_has_no_effect(place: Path, effects: Effects, old: str, new: str):
    repository = made(place, Injection("card", ""))
    path = repository / ".klineage/skills/hostile/conditions.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    before = files_of(repository)
    kernel = read(PLAIN.encode(), Language.CUDA).kernels[0]
    with effects.watched(str(place / "kept"), str(place / "state")) as seen:
        skills = library(repository)
        skill = skills.get("hostile")
        tuple(applicable(kernel, [skill] if skill is not None else [], Facts()))
    assert seen == [] and files_of(repository) == before
    assert skill is None or not (skill.builtin or skill.admitted)
    assert skill is not None or any("hostile" in str(problem.folder) for problem in skills.problems)


@pytest.mark.parametrize(("old", "new"), WORKLOAD_FIELDS.values(), ids=WORKLOAD_FIELDS)
def test_a_workload_that_asks_for_more_has_no_effect(place: Path, effects: Effects, old: str, new: str):
    repository = made(place, Injection("workload", ""))
    path = repository / ".klineage/workloads/scale.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    before = files_of(repository)
    reply = answer_with("Plain.", PLAIN[PLAIN.index("__global__") : PLAIN.index("}\nvoid") + 1])
    judge = Judges(verdict(Outcome.INCONCLUSIVE, "told"))
    with ProtocolServer(Reply(reply)).running() as server:
        allowed = ("git", "uname", "127.0.0.1", str(place / "kept"), str(place / "state"), "/dev/null")
        with effects.watched(*allowed) as seen:
            try:
                load_workload(path)
                attempt(repository, Injection("workload", ""), server, judge)
            except WorkloadError as refused:
                assert str(refused)
    assert seen == [] and files_of(repository) == before
    assert not any("root:" in m["content"] for r in server.requests for m in r["messages"])


def test_the_watch_sees_effects(effects: Effects, tmp_path: Path):
    with effects.watched(str(tmp_path / "allowed")) as seen:
        (tmp_path / "hostile.txt").write_text("x")
        os.system("true")
    assert any("hostile.txt" in one for one in seen) and any("os.system" in one for one in seen)


def test_there_are_sixty_of_them():
    assert COUNT >= 60
