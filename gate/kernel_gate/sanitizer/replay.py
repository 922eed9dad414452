"""The process that compute-sanitizer watches: `python -m kernel_gate.sanitizer.replay OUT_FOLDER GATE_PROCESS [once]`.

It makes a context, waits until OUT_FOLDER names a recording, makes its allocations and launches through PyCUDA, frees
all of it, writes where the buffers were, and waits for the next one. Nothing is read back: what the launches computed
is the check's to judge. It ends when it is asked to, or the gate's process does.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.cuda_context import CudaContext
from kernel_gate.devices.cuda_kernel import CudaKernel
from kernel_gate.devices.image import image_from_json
from kernel_gate.sanitizer.recording import ASKED, CONTENTS, DONE, LEAVE, PLAN, write_whole

_LAUNCH_SECONDS = 600.0
"""The tool's process is ended by those who wait for it; a watched launch is slow."""
_POLL_SECONDS, _SOON_SECONDS, _IDLE_POLL_SECONDS = 0.002, 5.0, 0.02
"""Between two looks for a recording: at first, for how long that is, and after it."""


def _argument(operand: dict[str, Any], addresses: list[int]) -> np.generic:
    if "buffer" in operand:
        return np.uint64(addresses[operand["buffer"]] + operand["offset"])
    value: np.generic = np.frombuffer(base64.b64decode(operand["bytes"]), np.dtype(operand["dtype"]))[0]
    return value


def main(out: Path, gate: int, *, once: bool = False) -> None:
    """Replay one recording after the other, or one, until the gate says so or its process ends."""
    device = CudaContext(launch_seconds=_LAUNCH_SECONDS)
    while (recording := _asked(out, gate)) is not None:
        write_whole(out / DONE, json.dumps(replay(device, recording)))
        if once:
            break
    device.leave()


def _asked(out: Path, gate: int) -> Path | None:
    """The folder of the next recording, once it is named; None when there is none to come.

    Asked by file: the tool may keep the standard input to itself.
    """
    since = time.monotonic()
    while _is_there(gate):
        with contextlib.suppress(FileNotFoundError):
            asked = (out / ASKED).read_text("utf-8")
            (out / ASKED).unlink()
            return Path(asked) if asked != LEAVE else None
        time.sleep(_POLL_SECONDS if time.monotonic() - since < _SOON_SECONDS else _IDLE_POLL_SECONDS)
    return None


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def replay(device: CudaContext, recording: Path) -> dict[str, Any]:
    """Replay until the end or the first launch that fails: where the buffers were, launches, what failed."""
    plan = json.loads((recording / PLAN).read_text("utf-8"))
    contents = np.fromfile(recording / CONTENTS, np.uint8)
    allocations = [device.driver.mem_alloc(nbytes or 1) for nbytes in plan["buffers"]]
    addresses = [int(allocation) for allocation in allocations]
    done: dict[str, Any] = {"addresses": addresses, "launches": 0, "failed": ""}
    kernels: list[CudaKernel] = []
    try:
        for image, beside in zip(plan["images"], plan["beside"], strict=True):
            shared = kernels[beside] if beside is not None else None
            kernels.append(CudaKernel(device, image_from_json(image), shared))
        for step in plan["steps"]:
            if "write" in step:
                part = contents[step["at"] : step["at"] + step["nbytes"]]
                device.driver.memcpy_htod(addresses[step["write"]], part)
                continue
            if "memset" in step:
                start = addresses[step["memset"]] + step["offset"]
                device.driver.memset_d8_async(start, step["value"], step["nbytes"])
                continue
            if "fill" in step:
                number = step["buffer"]
                fill = kernels[step["image"]].filling_from(
                    step["fill"], "its buffer", addresses[number], plan["buffers"][number]
                )
                if fill is not None:
                    fill()
                continue
            arguments = [_argument(a, addresses) for a in step["arguments"]]
            result = kernels[step["launch"]].launch(
                tuple(step["grid"]), tuple(step["block"]), step["shared_bytes"], arguments
            )
            done["launches"] += 1
            if result.faults:
                done["failed"] = result.faults[0].message
                break
        if not done["failed"]:
            # The next recording gets fresh allocations and modules, as in a process of its own.
            for allocation in allocations:
                allocation.free()
            device.modules.clear()
    except (DeviceError, device.driver.Error) as error:
        done["failed"] = str(error)
    return done


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), once=sys.argv[3:] == ["once"])
