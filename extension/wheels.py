"""The wheels that a VSIX carries: the package's own and all that it needs, for some Pythons on one platform.

usage: python extension/wheels.py FOLDER TARGET PYTHON…     (python extension/wheels.py dist/wheels linux-x64 3.11 3.12)

FOLDER gets the wheels and `lock.txt`, which has a hash for each of them, so that no index is needed to install them.
NVIDIA's compiler is not among them: `compiler.txt` names it, with hashes, for whoever fetches it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
CARRIED, ALL = ROOT / "requirements/carried.txt", ROOT / "requirements/lock.txt"
MACHINES = {"linux-x64": "x86_64", "linux-arm64": "aarch64"}
"""VS Code's name of a platform → Python's name of its machine."""
COMPILER = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-cccl", "nvidia-cuda-crt")
"""NVRTC and the headers that kernels include."""
OLDEST_GLIBC, NEWEST_GLIBC = 5, 28
"""Minor versions of glibc 2 that a wheel may ask for: 2.28 is in Debian 10, Ubuntu 20.04 and RHEL 8."""


def locked(file: Path) -> list[tuple[Requirement, str]]:
    """Each requirement of a lock file with its hashes."""
    lines = file.read_text().replace("\\\n", " ").splitlines()
    parts = [line.partition("--hash") for line in lines if line.strip()]
    return [(Requirement(name), mark + hashes) for name, mark, hashes in parts]


def wanted(python: str, machine: str) -> str:
    """The lock for one Python on Linux; pip would read the markers as of the Python that it runs in."""
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": machine,
        "os_name": "posix",
    }
    chosen = [(r, h) for r, h in locked(CARRIED) if r.marker is None or r.marker.evaluate(environment)]
    return text_of(chosen)


def text_of(requirements: list[tuple[Requirement, str]]) -> str:
    """A lock file without markers."""
    return "".join(f"{r.name}{r.specifier} {hashes}\n" for r, hashes in requirements)


def download(folder: Path, python: str, machine: str) -> None:
    """Fetch the wheels for one Python, each held to its hash."""
    platforms = [f"manylinux_2_{n}_{machine}" for n in range(NEWEST_GLIBC, OLDEST_GLIBC - 1, -1)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write(wanted(python, machine))
        requirements.flush()
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        which = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--python-version", python]
        for platform in [*platforms, f"manylinux2014_{machine}"]:
            which += ["--platform", platform]
        subprocess.run([*pip, *which, "-r", requirements.name, "-d", str(folder)], check=True)


def main(folder: Path, target: str, *pythons: str) -> None:
    """Fill the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build = [str(Path(sys.executable).parent / "hatchling"), "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    [own] = folder.glob("*.whl")
    name, version, *_ = own.name.split("-")
    digest = hashlib.sha256(own.read_bytes()).hexdigest()
    (folder / "lock.txt").write_text(f"{CARRIED.read_text()}{name}=={version} --hash=sha256:{digest}\n")
    (folder / "compiler.txt").write_text(text_of([(r, h) for r, h in locked(ALL) if r.name in COMPILER]))
    for python in pythons:
        download(folder, python, MACHINES[target])
    wheels = list(folder.glob("*.whl"))
    size = sum(wheel.stat().st_size for wheel in wheels) / 1e6
    print(f"{len(wheels)} wheels for Python {', '.join(pythons)} on {target}: {size:.0f} MB")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), *sys.argv[2:])
