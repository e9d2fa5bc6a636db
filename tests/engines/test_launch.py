"""Real llama.cpp: started, proved to generate, watched and ended; and what happens when it cannot."""

import http.server
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.core.clock import SystemClock
from assay.core.errors import BadInputError, EnvironmentFailedError
from assay.engines import EngineFailedError, LaunchRequest, RunningEngine, attach, engine_named, launch
from assay.engines._http import ask_json
from tests.engines.conftest import MODEL_NAME
from tests.engines.test_process import is_gone

LLAMA = engine_named("llama.cpp")
MakeRequest = Callable[..., LaunchRequest]


def start(request: LaunchRequest, directory: Path, deadline_s: float = 60) -> RunningEngine:
    return launch(
        LLAMA,
        request,
        directory=directory,
        log_path=directory / "engine.log",
        clock=SystemClock(),
        deadline_s=deadline_s,
    )


def test_launch_returns_an_engine_that_has_generated(llama_request: MakeRequest, tmp_path: Path) -> None:
    with start(llama_request(settings={"parallel": 2, "cache-type-k": "q8_0"}), tmp_path) as engine:
        status, answer = ask_json(engine.base_url, LLAMA.canary(MODEL_NAME), timeout_s=30)
        metrics = engine.metrics()
        pid = engine.pid
    assert status == 200
    assert LLAMA.generated_text(answer)
    assert answer["model"] == MODEL_NAME
    assert metrics is not None
    assert "llamacpp:tokens_predicted_total" in metrics
    times = engine.times
    assert times.started_at_ns is not None
    assert times.answered_at_ns is not None
    assert times.healthy_at_ns is not None
    assert times.started_at_ns < times.answered_at_ns <= times.healthy_at_ns < times.generated_at_ns
    ended = engine.exit()
    assert ended is not None
    assert (ended.returncode, ended.was_killed) == (0, False)
    assert pid is not None
    assert is_gone(pid)


def test_each_slot_gets_the_whole_context_of_the_profile(llama_request: MakeRequest, tmp_path: Path) -> None:
    with start(llama_request(settings={"parallel": 3}, context_tokens=320), tmp_path) as engine:
        from assay.engines import ProbeRequest

        _, props = ask_json(engine.base_url, ProbeRequest(path="/props"), timeout_s=10)
    # llama.cpp rounds the context of a slot up to a multiple of 256.
    assert props["total_slots"] == 3
    assert props["default_generation_settings"]["n_ctx"] >= 320


def test_launch_names_a_model_that_does_not_load_with_the_end_of_the_log(
    llama_request: MakeRequest, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    with pytest.raises(EngineFailedError, match=r"ended while starting \(exit code 1\)") as caught:
        start(llama_request(artifact=broken), tmp_path)
    problem = caught.value.problems[0]
    assert problem.where == str(tmp_path / "engine.log")
    assert "invalid magic" in (problem.detail or "")


def test_launch_that_is_not_ready_in_time_leaves_nothing(llama_request: MakeRequest, tmp_path: Path) -> None:
    with pytest.raises(EngineFailedError, match=r"not ready after 0\.01 s"):
        start(llama_request(), tmp_path, deadline_s=0.01)
    assert (tmp_path / "engine.log").exists()


def test_launch_refuses_a_port_that_is_taken(llama_request: MakeRequest, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentFailedError, match=rf"port {port} on 127\.0\.0\.1 is taken"):
            start(llama_request(port=port), tmp_path)


def test_adapter_refuses_unknown_settings_with_a_suggestion(llama_request: MakeRequest) -> None:
    with pytest.raises(BadInputError, match=r"unknown setting 'paralel'; did you mean 'parallel'\?"):
        LLAMA.command(llama_request(settings={"paralel": 4}))


@pytest.mark.parametrize("name", ["port", "host", "model", "ctx-size"])
def test_adapter_refuses_settings_that_assay_chooses(llama_request: MakeRequest, name: str) -> None:
    with pytest.raises(BadInputError, match=f"assay sets '{name}' itself"):
        LLAMA.command(llama_request(settings={name: "1"}))


@contextmanager
def scripted_server(answers: Mapping[str, tuple[int, object]]) -> Iterator[str]:
    """Serve fixed answers by path on loopback."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body = answers.get(self.path, (404, {}))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815 - the name that http.server looks for.

        def log_message(self, *arguments: object) -> None:
            """Stay silent."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


HEALTHY = {"/health": (200, {}), "/v1/models": (200, {"data": [{"id": MODEL_NAME}]})}
TEXT = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}


def attach_to(url: str, deadline_s: float = 1) -> RunningEngine:
    return attach(LLAMA, url, MODEL_NAME, clock=SystemClock(), deadline_s=deadline_s)


def test_attach_accepts_a_server_that_generates_and_never_stops_it() -> None:
    with scripted_server(HEALTHY | {"/v1/chat/completions": (200, TEXT)}) as url:
        engine = attach_to(url)
        assert (engine.pid, engine.stop(), engine.times.started_at_ns) == (None, None, None)
        assert attach_to(url)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"/health": (503, {"error": "Loading model"})}, "/health answered 503"),
        (
            {"/health": (200, {}), "/v1/models": (200, {"data": [{"id": "other"}]})},
            f"serves other, want '{MODEL_NAME}'",
        ),
        ({"/health": (200, {}), "/v1/models": (200, {"data": []})}, "serves no model"),
        (HEALTHY | {"/v1/chat/completions": (500, {"error": {"message": "worker died"}})}, "status 500: worker died"),
        (HEALTHY | {"/v1/chat/completions": (200, {"choices": []})}, "without generated text"),
        (HEALTHY | {"/v1/chat/completions": (200, {"choices": [{"message": {"content": ""}}]})}, "without generated"),
    ],
)
def test_readiness_names_what_a_server_cannot_do(answers: Mapping[str, tuple[int, object]], message: str) -> None:
    with scripted_server(answers) as url, pytest.raises(EngineFailedError, match=message):
        attach_to(url)


def test_attach_names_an_address_where_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(EngineFailedError, match="refused"):
        attach_to(url)
