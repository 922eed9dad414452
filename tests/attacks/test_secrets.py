"""Secrets are held back with their place named and never repeated; what is sent is logged for this user alone."""

import gzip
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from kernel_lineage.cli.main import main
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.materialise import _held_back
from kernel_lineage.rewrite.model.bounded import Bounds, bounded_client
from kernel_lineage.rewrite.model.client import Budget, ModelError, ask
from kernel_lineage.rewrite.model.secrets import secrets_in
from kernel_lineage.rewrite.model.sent import sent_file, sent_requests
from kernel_lineage.rewrite.model.settings import ModelSettings
from rewrite.protocol_server import ProtocolServer, Reply

Answers = Callable[[BaseHTTPRequestHandler], None]
RANDOM = "a8F3kQ9zX1bV7mN2pL5tR6wY4cD0eH"
SECRETS = (
    "ghp_" + RANDOM,
    "github_pat_" + RANDOM,
    "glpat-" + RANDOM,
    "AKIA" + "ABCDEFGH12345678",
    "sk-" + RANDOM,
    "sk-proj-" + RANDOM,
    "hf_" + RANDOM,
    "xoxb-123456789012-" + RANDOM,
    "AIza" + RANDOM + "12345",
    "-----BEGIN RSA PRIVATE " + "KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_DEF",
    "https://me:hunter2pass@example.org/",
    f'api_key = "{RANDOM}"',
    f"PASSWORD: '{RANDOM}'",
    f'os.environ["MY_SECRET"] = "{RANDOM}"',
)
HARMLESS = (
    "int key = keys[i]; // token 12, sk-learn, AKIA",
    'const char* token = "%s";',
    'tokenizer = "bert-base-uncased-model"',
    "// see https://example.org:8080/path@v1",
    "extern __shared__ float password_free[];",
    "0x9e3779b97f4a7c15ULL, 0xbf58476d1ce4e5b9ULL",
)


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_held_back_with_its_line_and_not_repeated(secret: str):
    with ProtocolServer(Reply("hello")).running() as server:
        settings = ModelSettings(base_url=server.url, model="m")
        with pytest.raises(ModelError) as held:
            ask(settings, [{"role": "user", "content": f"rewrite\n// {secret}\n"}], Budget(10_000))
        assert server.requests == []
    assert "line 2 of message 1" in str(held.value)
    assert secret not in str(held.value) and RANDOM not in str(held.value)
    assert not sent_file().exists()


@pytest.mark.parametrize("line", HARMLESS)
def test_code_is_no_secret(line: str):
    assert list(secrets_in(line)) == []


def test_the_line_is_that_of_the_file():
    text = f"\n\n__global__ void k(float* x) {{\n  // ghp_{RANDOM}\n  x[0] = 1;\n}}\n"
    (kernel,) = read(text.encode(), Language.CUDA).kernels
    held = _held_back(kernel)
    assert held is not None and "line 4 of the file, in k" in held.reason and RANDOM not in held.reason


def test_what_is_sent_is_logged_whole_and_shown():
    with ProtocolServer(Reply("hello")).running() as server:
        settings = ModelSettings(base_url=server.url, model="m", api_key="the key")
        ask(settings, [{"role": "user", "content": "rewrite this"}], Budget(10_000))
        (request,) = sent_requests()
        assert request.body == server.requests[0]
    assert sent_file().stat().st_mode & 0o077 == 0
    assert "the key" not in sent_file().read_text()
    shown = CliRunner().invoke(main, ["sent"])
    assert shown.exit_code == 0 and "rewrite this" in shown.output


def test_what_cannot_be_logged_is_not_sent(tmp_path: Path):
    (tmp_path / "kept").mkdir()
    sent_file().symlink_to(tmp_path / "elsewhere")
    with ProtocolServer(Reply("hello")).running() as server:
        with pytest.raises(ModelError, match="cannot be logged"):
            settings = ModelSettings(base_url=server.url, model="m")
            ask(settings, [{"role": "user", "content": "rewrite this"}], Budget(10_000))
        assert server.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_not_followed(status: int):
    with ProtocolServer(Reply("hello")).running() as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost") + "/chat/completions"
        with ProtocolServer(Reply(status=status, headers={"Location": elsewhere})).running() as server:
            settings = ModelSettings(base_url=server.url, model="m", api_key="the key")
            with pytest.raises(ModelError, match="which is not followed") as refused:
                ask(settings, [{"role": "user", "content": "rewrite this"}], Budget(10_000))
        assert (other.requests, len(server.requests)) == ([], 1)
    assert refused.value.problem == "request" and "the key" not in str(refused.value)


def _packed(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(400)
    handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    handler.wfile.write(gzip.compress(b"x"))


def _without_end(status: int, piece: bytes, first: bytes = b"") -> Answers:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(first)
        while True:
            handler.wfile.write(piece)

    return answer


def _slowly(first: bytes, piece: bytes) -> Answers:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(first)
        while True:
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(0.05)

    return answer


MEGABYTE = b"x" * (1 << 20)
ANSWERS = {
    "an error": (_without_end(400, MEGABYTE), "connection", "more than 16 MB"),
    "a line": (_without_end(200, MEGABYTE, b"data: "), "connection", "more than 16 MB"),
    "comments": (_without_end(200, b": " + MEGABYTE + b"\n"), "connection", "more than 16 MB"),
    "what is packed": (_packed, "connection", "is packed"),
    "a slow error": (_slowly(b"HTTP/1.1 400 No\r\n\r\n", b"x"), "timeout", "within"),
    "a slow line": (_slowly(b"HTTP/1.1 200 OK\r\n\r\ndata: ", b"x"), "timeout", "within"),
    "slow headers": (_slowly(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"), "timeout", "within"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_what_an_endpoint_sends_without_end_is_cut(what: str):
    answer, problem, words = ANSWERS[what]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with suppress(OSError):  # the client has gone
                answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    seconds = 1.0 if problem == "timeout" else 60.0
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    settings = ModelSettings(base_url=address, model="m", request_seconds=seconds)
    try:
        with pytest.raises(ModelError, match=words) as cut:
            ask(settings, [{"role": "user", "content": "rewrite this"}], Budget(10_000))
        assert cut.value.problem == problem
    finally:
        server.shutdown()
        server.server_close()


def test_what_comes_through_a_proxy_is_cut_too(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            with suppress(OSError):
                _without_end(200, MEGABYTE)(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("http_proxy", f"127.0.0.1:{server.server_address[1]}")
    monkeypatch.delenv("no_proxy", raising=False)
    bounds = Bounds()
    bounds.begin(60)
    address = "http://model.invalid/v1"
    try:
        with (
            bounded_client(address, bounds, trust_env=True) as client,
            pytest.raises(httpx2.ReadError, match="16 MB"),
        ):
            client.get(address)
    finally:
        server.shutdown()
        server.server_close()
    assert asked == [address]
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(httpx2.UnsupportedProtocol, match="none of HTTP"):
        bounded_client(address, bounds, trust_env=True)
    bounded_client(address, bounds, trust_env=False).close()
