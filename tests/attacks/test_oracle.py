"""An oracle is Python of the workload's author, and is contained like a candidate."""

import socket
import tempfile
from pathlib import Path

import numpy as np
import pytest

from gate.programs import workload as affine_workload
from kernel_gate import oracle as oracle_module
from kernel_gate.build import contained_run
from kernel_gate.cases import Case
from kernel_gate.oracle import KeptOracle, OracleError, OracleProcess
from kernel_gate.sandbox.containment import Containment, offered

needs_containment = pytest.mark.skipif(not offered().holds, reason="this machine has no sandbox")


def asked(folder, body, **rest):
    """What an oracle that first does `body` gives for ones."""
    (folder / "oracles.py").write_text(
        f"import os, pathlib, socket\nimport numpy as np\ndef affine(x, **_):\n    {body}\n    return 2 * x + 1\n"
    )
    made = affine_workload('[oracle]\npython = "oracles.py:affine"\n').model_copy(update={"folder": folder})
    inputs = {"x": np.ones((1, 4), np.float32)}
    with OracleProcess(made, **rest) as oracle:
        return oracle.expected(Case({"N": 1, "C": 4}, 0), inputs)["y"].ravel().tolist()


def test_an_honest_oracle_answers(tmp_path):
    assert asked(tmp_path, "np.linalg.norm(np.ones((64, 64)) @ np.ones((64, 64)))") == [3.0] * 4


@needs_containment
@pytest.mark.parametrize(
    "body",
    [
        "open('/etc/passwd').read()",
        "pathlib.Path(__file__).write_text('')",
        "pathlib.Path(__file__).with_name('new').touch()",
        "os.chmod(__file__, 0o777)",
        "socket.socket()",
        "os.kill(os.getppid(), 9)",
        "os.setsid()",
        "os.listdir(pathlib.Path.home().parent)",
    ],
)
def test_it_is_refused_what_a_candidate_is_refused(tmp_path, body):
    # In a namespace of processes its parent has no number, and a signal goes to itself alone.
    itself = "|process ended without an answer" if "os.kill" in body else ""
    with pytest.raises(OracleError, match=rf"failed: \w+Error{itself}"):
        asked(tmp_path, body)
    assert "affine" in (tmp_path / "oracles.py").read_text("utf-8")
    assert not (tmp_path / "new").exists()


@needs_containment
def test_a_server_of_the_machine_is_out_of_reach(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(OracleError, match="PermissionError"),
    ):
        asked(tmp_path, f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))")


def test_it_sees_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret")
    with pytest.raises(OracleError, match="the end") as caught:
        asked(tmp_path, "raise ValueError(str(dict(os.environ)) + 'the end')")
    assert "a-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "seconds", "message"),
    [
        ("import time; time.sleep(60)", 1.0, "took longer than 1 s"),
        ("os._exit(0)", 60.0, "ended without an answer"),
        ("return np.zeros(1 << 22)", 60.0, "gave more than its outputs hold"),
    ],
)
def test_what_it_answers_is_bounded(tmp_path, body, seconds, message):
    with pytest.raises(OracleError, match=message):
        asked(tmp_path, body, seconds=seconds)


def test_a_result_that_is_a_link_is_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.touch()
    (tmp_path / "link").symlink_to(secret)
    with pytest.raises(OracleError, match="cannot be read"):
        oracle_module._opened(tmp_path / "link", 10)


NOTHING = Containment(landlock=0, seccomp=False)


def test_without_a_sandbox_it_does_not_run_unless_it_is_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(contained_run, "offered", lambda: NOTHING)
    with pytest.raises(OracleError, match="allow-uncontained"):
        asked(tmp_path, "pass")
    assert asked(tmp_path, "pass", allow_uncontained=True) == [3.0] * 4


def test_no_folder_stays(tmp_path):
    before = set(Path(tempfile.gettempdir()).glob("kernel-gate-oracle-*"))
    with pytest.raises(OracleError):
        asked(tmp_path, "os.makedirs('a/b/c'); raise ValueError")
    assert set(Path(tempfile.gettempdir()).glob("kernel-gate-oracle-*")) <= before


def test_a_kept_oracle_is_that_of_the_workload_and_of_the_files_as_they_are(tmp_path):
    (tmp_path / "oracles.py").write_text(
        "import os\nimport rest\ndef affine(x, **_):\n    return rest.one(x)\n"
    )
    (tmp_path / "rest.py").write_text("import os\ndef one(x):\n    return 0 * x + os.getpid() % 1000\n")
    made = affine_workload('[oracle]\npython = "oracles.py:affine"\n').model_copy(update={"folder": tmp_path})
    kept = KeptOracle()

    def ask():
        with kept.lent(made) as oracle:
            inputs = {"x": np.ones((1, 1), np.float32)}
            return oracle.expected(Case({"N": 1, "C": 1}, 0), inputs)["y"].item(), oracle

    (first, process), (second, again) = ask(), ask()
    assert process is again and first == second
    (tmp_path / "rest.py").write_text("def one(x):\n    return x + 41\n")
    changed, other = ask()
    assert changed == 42 and other is not process and not process.runs
    with pytest.raises(KeyError), kept.lent(made):
        raise KeyError
    assert not other.runs
    kept.close()
