"""An oracle is Python of the workload's author, and is contained like a candidate."""

import numpy as np
import pytest

from kernel_gate.cases import Case
from kernel_gate.oracle import OracleError, OracleProcess
from kernel_gate.sandbox import containment
from kernel_gate.sandbox.containment import Containment, offered
from kernel_gate.workload import Argument, Oracle, Workload

needs_containment = pytest.mark.skipif(not offered().holds, reason="this machine has no sandbox")


def workload(folder, body):
    (folder / "oracles.py").write_text(f"import os, socket, subprocess\ndef scale(x):\n{body}\n    return 2 * x\n")
    arguments = [
        Argument(name="y", kind="output", dtype="float32", shape=("n",)),
        Argument(name="x", kind="input", dtype="float32", shape=("n",)),
    ]
    made = Workload.model_validate(
        {
            "name": "scale",
            "dims": {"n": [4]},
            "args": [a.model_dump() for a in arguments],
            "oracle": Oracle(python="oracles.py:scale").model_dump(),
        }
    )
    return made.model_copy(update={"folder": folder})


def asked(folder, body, **rest):
    with OracleProcess(workload(folder, body), **rest) as oracle:
        return oracle.expected(Case({"n": 4}), {"x": np.arange(4, dtype=np.float32)})["y"].tolist()
