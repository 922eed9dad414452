"""Many verdicts on a Dask cluster: the same worker process as on this machine, one beside each Dask worker.

A hang or a crash of a kernel ends the gate's process and not the Dask worker. One Dask worker per GPU is what
`dask-cuda` starts; `dask-jobqueue` starts them through Slurm.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kernel_gate.devices.base import DeviceError
from kernel_gate.fleet.places import gpu_places
from kernel_gate.fleet.pool import Pool
from kernel_gate.fleet.travelling import ClusterError, companions, judged
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Stage, Verdict
from kernel_gate.worker import Progress, Worker, without_answer

if TYPE_CHECKING:
    from distributed import Client

RETRIES = 2
"""Times that a request moves on after the Dask worker that had it was lost."""
_CONNECT_SECONDS = 20.0
_POLL_SECONDS = 0.05
_PLUGIN = "kernel-gate"


class GatePlugin:
    """Keeps one gate process beside a Dask worker. A worker with several threads still judges one at a time."""

    name = _PLUGIN
    idempotent = True

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def setup(self, worker: object) -> None:  # noqa: ARG002 - Dask's protocol
        """Called on the Dask worker when it starts or the plugin arrives."""
        self.gate = Worker()
        self.turn = threading.Lock()

    def teardown(self, worker: object) -> None:  # noqa: ARG002 - Dask's protocol
        """Called on the Dask worker when it ends."""
        self.gate.close()


def judge_task(request: str, files: Mapping[str, bytes], timeout: float) -> str:
    """What runs on a Dask worker: a request as JSON → the verdict as JSON.

    `files` are those that the workload names; the caller's folder may not exist here.
    """
    from distributed import get_worker

    plugin: GatePlugin = get_worker().plugins[_PLUGIN]
    with plugin.turn:
        return judged(plugin.gate, request, files, timeout).model_dump_json()


class ClusterPool(Pool):
    """A pool of the workers of a Dask cluster."""

    def __init__(self, client: Client, workers: int | None = None) -> None:
        """`workers` is how many there will be, when they are still to come."""
        from distributed.diagnostics.plugin import WorkerPlugin

        class Plugin(GatePlugin, WorkerPlugin):  # type: ignore[misc]
            """The plugin as Dask wants it."""

        self._client = client
        self._workers = workers
        client.register_plugin(Plugin(), name=_PLUGIN)

    @property
    def size(self) -> int:
        """Workers of the cluster."""
        return max(1, self._workers or len(self._client.nthreads()))

    def judge(
        self,
        request: GateRequest,
        *,
        timeout: float = 600.0,
        on_progress: Progress | None = None,  # noqa: ARG002 - a cluster tells verdicts only
        cancelled: Callable[[], bool] | None = None,
        on_stage: Callable[[Stage], None] | None = None,  # noqa: ARG002
    ) -> Verdict:
        """The verdict of one of the cluster's workers.

        Raises `DeviceError` when that worker lacks the device, `ClusterError` for a file that cannot travel.
        """
        document, files = request.model_dump_json(), companions(request)
        future = self._client.submit(judge_task, document, files, timeout, pure=False, retries=RETRIES)
        try:
            while not future.done():
                if cancelled is not None and cancelled():
                    return without_answer(request, "build", Reason.CANCELLED, "cancelled")
                time.sleep(_POLL_SECONDS)
        finally:
            if not future.done():
                future.cancel()
        error = future.exception()
        if isinstance(error, DeviceError):
            raise error
        if error is not None:
            reason = f"the Dask worker was lost ({RETRIES + 1} tries): {error}"
            return without_answer(request, "build", Reason.WORKER_DIED, reason)
        return Verdict.model_validate_json(future.result())


@contextlib.contextmanager
def cluster_pool(cluster: str, workers: int | None = None) -> Iterator[ClusterPool]:
    """The workers behind a scheduler's address (`tcp://host:8786`), `local` ones, or those that `slurm` grants.

    `local` starts one Dask worker per GPU where there is one, else `workers` of them for the emulated device. `slurm`
    takes its queue, account and GPU request from Dask's own configuration (`jobqueue.slurm`). Raises `ClusterError`.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(f"{error}; pip install 'kernel-lineage[cluster]'") from error
    with contextlib.ExitStack() as stack:
        try:
            address = cluster if "://" in cluster else stack.enter_context(_start(cluster, workers))
            client = stack.enter_context(Client(address, timeout=_CONNECT_SECONDS))
        except OSError as error:
            raise ClusterError(f"no Dask scheduler answers at {cluster}: {error}") from error
        yield ClusterPool(client, workers if "://" not in cluster else None)


def _start(kind: str, workers: int | None) -> Any:
    """A cluster object, which closes what it started."""
    if kind == "local":
        return _local(workers)
    if kind != "slurm":
        raise ClusterError(
            f"`{kind}` is no cluster: give an address such as tcp://host:8786, `local` or `slurm`"
        )
    try:
        from dask_jobqueue import SLURMCluster

        cluster = SLURMCluster()
    except ImportError as error:
        raise ClusterError(f"{error}; pip install 'kernel-lineage[cluster]'") from error
    except (TypeError, ValueError) as error:
        raise ClusterError(f"Dask's configuration of jobqueue.slurm is not complete: {error}") from error
    cluster.scale(workers or 1)
    return cluster


def _local(workers: int | None) -> Any:
    try:
        gpu_places()
    except DeviceError:
        from distributed import LocalCluster

        return LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        )
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        raise ClusterError(f"{error}; pip install 'kernel-lineage[cluster]'") from error
    return LocalCUDACluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
