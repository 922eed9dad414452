"""What a process takes over from its surroundings: folders of modules, variables, programs. All of it is cleaned.

A shell, a `.envrc` or an empty entry of PATH can make Python and the dynamic linker look into the folder that somebody
works in, which is where a repository is that nobody has read.
"""

from __future__ import annotations

import os
import re
import shutil
import site
import sys
from pathlib import Path

_SECRET = re.compile(
    r"(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$|^SSH_AUTH_SOCK$", re.IGNORECASE
)
_NAMES_CODE = re.compile(
    r"PYTHON|GIT_(?:PYTHON_|EXEC_PATH|EXTERNAL_DIFF|SSH|PROXY_COMMAND|EDITOR|PAGER|ASKPASS)"
)
"""Variables with which Python, git or what drives git here is told which modules and programs to run."""
_LISTS = ("PATH", "LD_LIBRARY_PATH")
"""Variables that hold folders; an empty or relative entry is the working directory or a folder below it."""
_FOLDERS = ("CUDA_HOME", "CUDA_PATH")
_KEPT_BARE = (*_LISTS, *_FOLDERS, "LANG", "LC_ALL")
_OWN = Path(__file__).resolve().parents[2]
"""The folder that the gate is imported from."""


def workspace() -> Path | None:
    """The repository of the working directory; None outside of one, and where it holds the home folder."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # removed meanwhile: nothing is found through it
        return None
    # Not Path.exists: a parent that this process may not look into holds no repository of its.
    root = next((p for p in (here, *here.parents) if os.path.exists(p / ".git")), here)  # noqa: PTH110
    return None if Path.home().is_relative_to(root) else root


def _is_ours(entry: str, repository: Path | None) -> bool:
    """Whether a folder may be looked in: not by the place that one works in, and not of that place's repository."""
    path = Path(entry)
    if not path.is_absolute() or repository is None:
        return path.is_absolute()
    places = (str(path), os.path.realpath(path))  # texts: paths take ten times as long to compare
    # The environment that this interpreter was started in is a choice of its user, wherever it lies.
    return any(_lies_in(p, sys.prefix) for p in places) or not any(
        _lies_in(p, str(repository)) for p in places
    )


def _lies_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)


def _cleaned(name: str, value: str, repository: Path | None) -> str:
    """A variable's value without what is looked up in a workspace; "" when nothing is left."""
    if name in _LISTS:
        return os.pathsep.join(e for e in value.split(os.pathsep) if _is_ours(e, repository))
    if name in _FOLDERS:
        return value if _is_ours(value, repository) else ""
    return value


def environment() -> dict[str, str]:
    """The variables of this process for another one: none of Python's own, no keys, no folders of a workspace."""
    repository = workspace()
    cleaned = {
        name: _cleaned(name, value, repository)
        for name, value in os.environ.items()
        if not _NAMES_CODE.match(name) and not _SECRET.search(name)
    }
    return {name: value for name, value in cleaned.items() if value or name not in (*_LISTS, *_FOLDERS)}


def bare_environment(folder: Path) -> dict[str, str]:
    """A few named variables, with home, caches and temporary files in a private folder."""
    return {
        **{name: value for name, value in environment().items() if name in _KEPT_BARE},
        "HOME": str(folder),
        "USER": "gate",
        "TMPDIR": str(folder),
        "TRITON_CACHE_DIR": str(folder / "triton-cache"),
        "CUDA_CACHE_PATH": str(folder / "cuda-cache"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def find_program(name: str) -> str | None:
    """Where a program is, by PATH without the folders of a workspace."""
    return shutil.which(name, path=environment().get("PATH", os.defpath))


def _named_by_variable() -> set[str]:
    return {os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep)}  # noqa: PTH100 - as Python


def package_folders(*own: Path) -> list[str]:
    """`own`, then the folders of packages that this process was started with.

    Left out: the working directory, what PYTHONPATH names, and the user's folder unless the gate itself lies in it.
    """
    places = set(site.getsitepackages())
    here = os.path.abspath("") if sys.path else ""  # noqa: PTH100 - as Python
    foreign = {here, *_named_by_variable(), site.getusersitepackages()} - places
    own_places = [str(folder) for folder in (_OWN, *own)]
    started_with = (
        p for p in sys.path if p and p not in foreign and Path(p).is_absolute() and Path(p).is_dir()
    )
    return list(dict.fromkeys([*own_places, *started_with]))


def settle(*own: Path) -> None:
    """Clean what this process itself looks up from now on. Keys stay: they are for the command that was called."""
    packages = package_folders(*own)
    archives = [p for p in sys.path if p.endswith(".zip") and Path(p).is_absolute()]  # the standard library's
    sys.path[:] = [p for p in sys.path if p in packages or p in archives]
    sys.path.extend(p for p in packages if p not in sys.path)
    repository = workspace()
    for name, value in list(os.environ.items()):
        if _NAMES_CODE.match(name):
            del os.environ[name]
        elif name in (*_LISTS, *_FOLDERS):
            os.environ[name] = _cleaned(name, value, repository)
            if not os.environ[name]:
                del os.environ[name]
