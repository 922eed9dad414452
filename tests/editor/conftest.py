"""A small workspace of our own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from editor.session import Session, session

SCALE = """\
// Multiplies – row by row – by α.
__global__ void scale(float* out, const float* x, float alpha, int C) {
    const float* row = x + blockIdx.x * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        /* α·x 😀 */ out[blockIdx.x * C + i] = alpha * row[i];
    }
}

void launch_scale(float* out, const float* x, float alpha, int N, int C) {
    scale<<<N, 128>>>(out, x, alpha, C);
}
"""


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """A file with one kernel that skills apply to, in a folder that is no repository."""
    path = tmp_path / "scale.cu"
    path.write_text(SCALE, "utf-8")
    return path


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    async with session(tmp_path_factory.mktemp("workspace"), {"check": "off"}) as editor:
        yield editor


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _checking_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    options = {"checkSeconds": 60, "confirmsEdits": True}
    async with session(tmp_path_factory.mktemp("workspace"), options) as editor:
        yield editor


@pytest.fixture
def checking_editor(_checking_server: Session) -> Iterator[Session]:
    """As `editor`, but it checks what is opened and edited: the processes that judge are started once."""
    yield _checking_server
    _checking_server.close_all()


@pytest.fixture
def editor(_server: Session) -> Iterator[Session]:
    """An editor that shares its server with other tests: trusted, with no settings, checking nothing by itself.

    Those that use it run in one loop: `pytest.mark.asyncio(loop_scope="session")`.
    """
    yield _server
    _server.close_all()
