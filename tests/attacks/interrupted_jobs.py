"""What is interrupted: mining, replay, an application, its write, drafts, an editor's session.

Each job says what it must keep.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from history.repositories import NAIVE, Step, make_repository
from kernel_gate.files.temporary import remove_tree
from kernel_lineage.demo.sample import build_sample_repository
from rewrite.conftest import SCALE, WORKLOAD

_HERE = Path(__file__).parent
_STEPS = [
    Step(f"step {number}", {f"kernel{number % 4}.cu": NAIVE.replace("factor;", f"factor + {number};")})
    for number in range(24)
]
FILL = """\
__global__ void fill(float* out, const float* x) {
    out[threadIdx.x] = x[threadIdx.x];
}
int main() {
    int N = 32;
    float *d_out;
    float *d_x;
    cudaMalloc(&d_out, N * sizeof(float));
    cudaMalloc(&d_x, N * sizeof(float));
    fill<<<1, N>>>(d_out, d_x);
}
"""
RUN_TO_BE_READ = """\
#include <string>
__global__ void shift(float* out, const float* x, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + by;
}
int main() {
    const std::string words = "seventy-two";
    int n = words.size() * 8, by = std::stoi("3");
    float *out, *x;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    shift<<<(n + 31) / 32, 32>>>(out, x, n, by);
}
"""
"""A program whose sizes only running it tells."""
TURN = """\
__global__ void turn(float* out, const float* x, int rows, int cols) {
    __shared__ float tile[32][32];
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row < rows && column < cols) tile[threadIdx.y][threadIdx.x] = x[row * cols + column];
    __syncthreads();
    row = blockIdx.y * 32 + threadIdx.x, column = blockIdx.x * 32 + threadIdx.y;
    if (row < rows && column < cols) out[column * rows + row] = tile[threadIdx.x][threadIdx.y];
}
"""
TURN_WORKLOAD = """\
kernel = "turn"
language = "cuda"
source = "turn.cu"
dims = { rows = [32], cols = [33] }
args = [
    { name = "out", kind = "output", dtype = "float32", shape = ["cols", "rows"] },
    { name = "x", kind = "input", dtype = "float32", shape = ["rows", "cols"] },
    { name = "rows", kind = "scalar", dtype = "int32", value = "rows" },
    { name = "cols", kind = "scalar", dtype = "int32", value = "cols" },
]
launch = { grid = ["ceil_div(cols, 32)", "ceil_div(rows, 32)"], block = [32, 32] }
"""
"""One step from which a skill is learned, at sizes at which that takes seconds."""
KLINEAGE = [sys.executable, "-B", "-m", "kernel_lineage"]


class Place:
    """Where one job works: a repository, what is kept of it, temporary files, and what it says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository, self.kept, self.temporary = folder / "repository", folder / "kept", folder / "tmp"
        self.out, self._err = _beside(folder, "out"), _beside(folder, "err")

    def clear(self) -> None:
        """Back to nothing."""
        for name in ("repository", "kept", "tmp", "state", "cache", "home"):
            remove_tree(self.folder / name)

    def environment(self) -> dict[str, str]:
        """Variables that keep all that is written in this place."""
        for name in ("tmp", "home"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        return {
            **os.environ,
            "PYTHONPATH": str(_HERE.parent),  # for the session; `klineage` lets go of it
            "TMPDIR": str(self.temporary),
            "KLINEAGE_KEEP_IN": str(self.kept),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "HOME": str(self.folder / "home"),
        }

    def start(self, command: list[str], room: int | None) -> subprocess.Popen[bytes]:
        """Start a command there; `room` limits the size of every file that it writes."""

        def limit() -> None:
            if room is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

        with self.out.open("wb") as out, self._err.open("wb") as err:
            return subprocess.Popen(
                command,
                cwd=self.repository,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=limit if room is not None else None,
            )

    def words(self) -> str:
        """What the last command said on stderr."""
        return self._err.read_text("utf-8", "replace")

    def answer(self) -> str:
        """What it said on stdout."""
        return self.out.read_text("utf-8", "replace")

    def left(self) -> list[str]:
        """What lies in the temporary folder after a whole run, and half-written files anywhere."""
        root = self.temporary / f"klineage-{os.getuid()}"
        places = [p for p in self.temporary.iterdir() if p != root]
        places += [p for p in root.iterdir() if p.name != ".lock"] if root.is_dir() else []
        return [str(p.relative_to(self.folder)) for p in [*places, *self.folder.rglob(".*.part")]]


def _beside(folder: Path, what: str) -> Path:
    """Beside a folder, not in it: what a command says needs room as well, and that disk is not the tested one."""
    place = folder.parent if folder.name != "place" else folder.parent.parent
    place.mkdir(parents=True, exist_ok=True)
    return place / f"{folder.parent.name}-{folder.name}.{what}"


@dataclass(frozen=True)
class Job:
    """One thing that is interrupted."""

    name: str
    title: str
    weight: int
    """Its share of the interruptions: smaller where one run takes long."""
    command: list[str]
    prepare: Callable[[Place], None]
    """Makes the repository where there is none."""
    result: Callable[[Place], str]
    """What a whole run gives, in a form that two runs have in common; "" for nothing."""
    lost: Callable[[Place], str] = lambda _place: ""
    """What an interruption has spoilt, in words; "" for nothing."""
    before_last: Callable[[Place], None] = lambda _place: None

    def start(self, place: Place, room: int | None) -> subprocess.Popen[bytes]:
        """Start it."""
        return place.start(self.command, room)


def _document(place: Place) -> dict[str, object]:
    text = place.answer()
    try:
        document = json.loads(text)
    except ValueError:
        return {"no document": text[:300]}
    return document if isinstance(document, dict) else {}


def _digests(folder: Path) -> Mapping[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else []
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def _checkout_changed(place: Place) -> str:
    git = [
        "git",
        "--no-optional-locks",
        "-C",
        str(place.repository),
        "status",
        "--porcelain",
        "--untracked-files=all",
    ]
    done = subprocess.run(git, capture_output=True, text=True)
    printed = done.stdout + done.stderr
    return f"the checkout has changed: {printed}" if printed else ""


# Mining


def _numbered_steps(place: Place) -> None:
    if not place.repository.exists():
        make_repository(place.repository, _STEPS)


def _lineages(place: Place) -> str:
    document = _document(place)
    lineages = document.get("lineages")
    ids = [one["id"] for one in lineages] if isinstance(lineages, list) else document
    return json.dumps([ids, document.get("messages")])


# Replay


def _sample(place: Place) -> None:
    if not place.repository.exists():
        build_sample_repository(place.repository)


def _one_step(place: Place) -> None:
    if not place.repository.exists():
        padded = TURN.replace("tile[32][32]", "tile[32][33]")
        steps = [
            Step("Transpose by tiles", {"turn.cu": TURN, ".klineage/workloads/turn.toml": TURN_WORKLOAD}),
            Step("Pad the tile: faster, without bank conflicts", {"turn.cu": padded}),
        ]
        make_repository(place.repository, steps)


def _transitions(place: Place) -> str:
    steps = _document(place).get("transitions")
    if not isinstance(steps, list):
        return json.dumps(_document(place))
    return json.dumps(
        [[one["id"] if "id" in one else one["kernel"], one["status"], one["code"]] for one in steps]
    )


def _skills(place: Place) -> str:
    """The names: a card holds the date of its evidence and the seeds of its verdicts."""
    return json.dumps(sorted(_digests(place.repository / ".klineage")))


def _half_a_skill(place: Place) -> str:
    check = [*KLINEAGE, "skills", "check", str(place.repository / ".klineage" / "skills")]
    if not any((place.repository / ".klineage" / "skills").glob("*/*")):
        return ""
    done = subprocess.run(check, capture_output=True, text=True, env=place.environment())
    return "" if done.returncode == 0 else f"a skill that cannot be read: {done.stdout}{done.stderr}"


# Applying


def _one_kernel(place: Place) -> None:
    workloads = place.repository / ".klineage" / "workloads"
    if not workloads.is_dir():
        workloads.mkdir(parents=True)
        (workloads / "scale.toml").write_text(WORKLOAD)
        (place.repository / "scale.cu").write_text(SCALE)
        (place.repository / "fill.cu").write_text(FILL)
        (place.repository / "shift.cu").write_text(RUN_TO_BE_READ)


def _patch(place: Place) -> str:
    document = _document(place)
    patches = sorted(place.kept.rglob("*.patch"))
    texts = [p.read_text("utf-8").partition("\n--- ")[2] for p in patches]
    return json.dumps([document.get("outcome"), [p.name for p in patches], texts])


def _source_changed(place: Place) -> str:
    text = (place.repository / "scale.cu").read_text("utf-8")
    return "" if text == SCALE else f"scale.cu was changed: {text[:200]}"


ACCEPTING = str(_HERE / "accepting.py")


def _whole_source(place: Place) -> str:
    """The text after an accepted edit differs from the one before in its kernel alone and ends as it did."""
    text = (place.repository / "scale.cu").read_text("utf-8")
    if text == SCALE:
        return ""
    reference = place.folder.with_name(place.folder.name + "-accepted.cu")
    if not reference.exists():
        reference.write_text(text)
    return "" if text == reference.read_text() else f"scale.cu is neither the old nor the new text: {text}"


def _restore_source(place: Place) -> None:
    (place.repository / "scale.cu").write_text(SCALE)


def _source(place: Place) -> str:
    return (place.repository / "scale.cu").read_text("utf-8")


# Drafting

_DRAFTS = ("fill", "shift")


def _drafts(place: Place) -> dict[str, str]:
    paths = [place.repository / ".klineage" / "workloads" / f"{name}.toml" for name in _DRAFTS]
    return {str(path): path.read_text("utf-8") for path in paths if path.exists()}


def _draft(place: Place) -> str:
    return "".join(_drafts(place).values())


def _recorded_draft(place: Place) -> str:
    text = _draft(place)
    return text if "# recorded: " in text else ""


def _half_a_draft(place: Place) -> str:
    halves = [t for t in _drafts(place).values() if not (t.endswith("\n") and "[launch]" in t)]
    return f"half a workload: {halves}" if halves else ""


def _without_draft(place: Place) -> None:
    for path in _drafts(place):
        Path(path).unlink()


# An editor's session


def _session_repository(place: Place) -> None:
    if not place.repository.exists():
        make_repository(
            place.repository,
            [
                Step("one", {"scale.cu": SCALE, ".klineage/workloads/scale.toml": WORKLOAD}),
                Step("two", {"scale.cu": SCALE.replace("a * x[i]", "x[i] * a"), "other.cu": NAIVE}),
                Step("three", {"scale.cu": SCALE}),
            ],
        )


def _session_result(place: Place) -> str:
    return place.answer()


_SESSION = [sys.executable, "-B", "-m", "attacks.interrupted_session"]

JOBS = {
    job.name: job
    for job in (
        Job(
            "mine",
            "`klineage mine --jobs 2`",
            6,
            [*KLINEAGE, "mine", ".", "--json", "--jobs", "2"],
            _numbered_steps,
            _lineages,
            _checkout_changed,
        ),
        Job(
            "replay",
            "`klineage replay --no-learn`",
            3,
            [
                *KLINEAGE,
                "replay",
                ".",
                "--device",
                "emulated",
                "--kernel",
                "rmsnorm_forward",
                "--no-learn",
                "--json",
            ],
            _sample,
            _transitions,
            _checkout_changed,
        ),
        Job(
            "learn",
            "`klineage replay`, with learning",
            1,
            [*KLINEAGE, "replay", ".", "--device", "emulated", "--json"],
            _one_step,
            _skills,
            _half_a_skill,
        ),
        Job(
            "apply",
            "`klineage apply`",
            4,
            [
                *KLINEAGE,
                "apply",
                "vectorised-row-access",
                "scale.cu:scale",
                "--device",
                "emulated",
                "--anyway",
                "--json",
            ],
            _one_kernel,
            _patch,
            _source_changed,
        ),
        Job(
            "write",
            "the edit of an accepted `klineage apply`",
            4,
            [sys.executable, "-B", ACCEPTING, "apply", "vectorised-row-access", "scale.cu:scale", "--json"],
            _one_kernel,
            _source,
            _whole_source,
            _restore_source,
        ),
        Job(
            "init",
            "`klineage workload init`",
            4,
            [*KLINEAGE, "workload", "init", "fill.cu:fill", "--mutants", "1", "--json"],
            _one_kernel,
            _draft,
            _half_a_draft,
            _without_draft,
        ),
        Job(
            "record",
            "`klineage workload init`, host code built and run",
            2,
            [*KLINEAGE, "workload", "init", "shift.cu:shift", "--mutants", "1", "--json"],
            _one_kernel,
            _recorded_draft,
            _half_a_draft,
            _without_draft,
        ),
        Job(
            "editor",
            "a server that is edited in, and applies",
            3,
            _SESSION,
            _session_repository,
            _session_result,
            _checkout_changed,
        ),
    )
}
