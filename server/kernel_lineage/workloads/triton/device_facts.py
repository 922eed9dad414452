"""What the code of a repository is told where it asks for its surroundings: a CUDA device, no environment variables.

What is taken for granted and may decide a launch is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING

from kernel_lineage.workloads.device_size import ASKED_OF_TORCH, multiprocessors
from kernel_lineage.workloads.triton.values import External

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader

CAPABILITY = (9, 0)
NEAR_BYTES = 232_448
"""Shared memory for one block on such a device."""
_NEAR = re.compile(r"(?:capacity|shared_mem(?:ory)?|smem(?:_size)?)(_bits|_bytes|_per_block)?$")
_MAKER = re.compile(r"_?is_(nvidia|amd|hip|rocm|intel|xpu|npu|musa|ascend)", re.IGNORECASE)
_AVAILABLE = re.compile(r"is_(?:torch_)?(\w+?)_(?:available|supported)$")
_THERE = frozenset({"cuda", "triton", "torch", "bf16", "bfloat16", "nvidia", "fp16", "nccl"})
_VERSIONS = frozenset({"parse", "Version", "LooseVersion", "parse_version"})
"""Functions of packages that make a version of a text; versions are compared number by number."""
_USUAL = {"triton": "3.8.0", "torch": "2.9.0"}
"""Versions that are taken where a package is not installed."""
_ANSWERS: Mapping[str, object] = {
    **dict.fromkeys(
        ("torch.compiler.is_compiling", "torch.is_autocast_enabled", "torch.distributed.is_initialized",
         "torch.jit.is_scripting", "torch.jit.is_tracing", "torch.overrides.has_torch_function",
         "torch._dynamo.is_compiling", "torch.are_deterministic_algorithms_enabled",
         "torch.is_inference_mode_enabled"), False),
    "torch.is_grad_enabled": True, "torch.cuda.is_available": True, "torch.backends.cuda.is_built": True,
    "torch.cuda.device_count": 1, "torch.distributed.get_world_size": 1, "torch.cuda.current_device": 0,
    "torch.distributed.get_rank": 0, "torch.device": External("device"), "torch.cuda.get_device_name": "NVIDIA",
}  # fmt: skip
"""Function → what it answers here, whatever it is asked."""
_NONE = frozenset({"torch.version.hip", "torch.version.xpu", "torch.version.musa", "tl.dtype"})


def asked_of_surroundings(
    reader: Reader, name: str, args: list[object], named: Mapping[str, object]
) -> tuple[object] | None:
    """The answer to a call that asks for the device or the environment, in a tuple; None for other calls."""
    last = name.rpartition(".")[2]
    if name in _ANSWERS:
        return (_ANSWERS[name],)
    if name in ("os.environ.get", "os.getenv"):
        return (args[1] if len(args) > 1 else named.get("default"),)
    if last == "is_available" and name.startswith("torch."):
        return (False,)
    match = _AVAILABLE.match(last)
    if match:
        return (match[1] in _THERE,)
    if last == "get_device_capability":
        reader.say(f"the device is taken to have the compute capability {CAPABILITY[0]}.{CAPABILITY[1]}")
        return (CAPABILITY,)
    if last in _VERSIONS and len(args) == 1 and isinstance(args[0], str):
        return (tuple(int(part) for part in re.findall(r"\d+", args[0])[:3]),)
    return None


def surrounding(reader: Reader, dotted: str) -> tuple[object] | None:
    """What a dotted name of a package stands for that tells of the device, in a tuple; None for others."""
    if dotted in _NONE:
        return (None,)
    if dotted == "device.type":
        return ("cuda",)
    if dotted == "device.index":
        return (0,)
    if dotted == "sys.argv":
        return (["script"],)  # nobody types an argument
    if dotted in ("triton.__version__", "torch.__version__"):
        package = dotted.partition(".")[0]
        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:
            version = _USUAL[package]
        reader.say(f"{package} is taken to be version {version}")
        return (version,)
    if dotted.rpartition(".")[2] in ("multi_processor_count", "multiprocessor_count"):
        return (reader.dim(ASKED_OF_TORCH, multiprocessors(), "it depends on the device"),)
    return None


def is_of_maker(reader: Reader, name: str) -> bool | None:
    """Whether the device is of the maker that a name like `IS_AMD` asks for; None for other names."""
    match = _MAKER.fullmatch(name)
    if match is None:
        return None
    reader.say(f"{name} is taken to be {match[1].lower() == 'nvidia'}: the device is one of NVIDIA's")
    return match[1].lower() == "nvidia"


def near_memory(reader: Reader, name: str) -> int | None:
    """How much memory near the cores there is, for a name that stands for it; None for other names."""
    match = _NEAR.search(name)
    if match is None:
        return None
    reader.say(f"{name} is taken to be that of a device with {NEAR_BYTES} bytes of shared memory for a block")
    return NEAR_BYTES * (8 if match[1] == "_bits" else 1)
