"""What one process keeps from one run to the next, so that the next one starts warm."""

from collections.abc import Iterable

from kernel_gate.devices.opening import OpenDevices
from kernel_gate.kept_runs import KeptRuns
from kernel_gate.oracle import KeptOracle
from kernel_gate.processes.closing import Closing
from kernel_gate.sanitizer.tool import TOOLS, SpareTools
from kernel_gate.worker import Worker


class Kept(Closing):
    """An open GPU, sanitizer tools and an oracle that wait for work, and runs of a baseline. A context manager."""

    def __init__(self, *, more_follow: bool = False) -> None:
        self.devices = OpenDevices()
        self.spares = SpareTools()
        self.oracles = KeptOracle()
        self.runs = KeptRuns()
        self.watcher = Worker()
        """Judges on the emulated device, beside a GPU's work."""
        self.more_follow = more_follow
        """Whether another run is to be expected after this one."""

    def close(self) -> None:
        self.runs.close()
        self.watcher.close()
        self.oracles.close()
        self.spares.close()
        self.devices.close()

    def make_ready(self, tools: Iterable[str] = TOOLS) -> None:
        """Start what a run will wait for. Nothing when no GPU is open, or it is lost."""
        if self.devices.has_gpu:
            self.spares.prepare(tools)
            self.watcher.prepare()

    def after_timing(self) -> None:
        """Start what the next run will wait for, as soon as nothing is timed any more."""
        if self.more_follow:
            self.make_ready()
