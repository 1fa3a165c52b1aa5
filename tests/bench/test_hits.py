"""Answers that the application has not given must be told apart from its own."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import adyton.counting
import pytest

from bench.runs import APPLICATION, NOISE, SURE, bench, gates, liar, run, wrong

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from pathlib import Path

    from support.server import Servers

COUNTED = APPLICATION.with_name("counted.py")


@pytest.mark.parametrize(
    ("flags", "words", "processes"),
    [
        ((), (), 1),
        ((), ("--rate", "500"), 1),
        (("--processes", "2"), ("-k=off",), 2),
        (("--processes", "2", "--preload"), ("-k=off", "--slow-senders", "3"), 2),
    ],
)
def test_honest(
    serve: Servers, tmp_path: Path, flags: tuple[str, ...], words: tuple[str, ...], processes: int
) -> None:
    """The application must have seen every request that was answered, whichever process answered."""
    server = serve(COUNTED, *flags, env={"TMPDIR": str(tmp_path)})
    for _ in range(2):
        report = bench(f"http://127.0.0.1:{server.port}/", *SURE, "--count-hits", *words)
        hits = report["hits"]

        assert set() == gates(report) - NOISE - ({"late"} if "--rate" in words else set())
        assert 0 == wrong(report)
        assert report["counts"]["right"] < hits["right"] <= hits["seen"] <= hits["sent"]
        assert hits["sent"] - hits["right"] <= 8 + 3
        assert processes == hits["processes"]


@pytest.mark.parametrize(
    ("kind", "sentence"), [("cache", "others came out of a cache"), ("asks-twice", "something asks twice")]
)
def test_liars(kind: str, sentence: str) -> None:
    """Answers out of a cache, and requests that are made twice, must be reported."""
    with liar(kind) as url:
        report = bench(url, *SURE, "--count-hits")
        unasked = bench(url, *SURE)

    assert 0 == wrong(report)
    [why] = [reason["why"] for reason in report["invalid"] if reason["gate"] == "hits"]
    assert sentence in why
    assert unasked["hits"] is None
    assert "hits" not in gates(unasked)


@pytest.mark.parametrize("words", [(), ("--rate", "500"), ("-k=off",)])
def test_our_own_server(serve: Servers, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Adyton's supervisor tells how often the application was called, so the middleware is not needed."""
    server = serve(APPLICATION, "--processes", "2", "--control", str(tmp_path / "control.sock"))
    report = bench(f"http://127.0.0.1:{server.port}/", *SURE, "--count-hits", *words)
    hits = report["hits"]

    assert "hits" not in gates(report)
    assert 0 < report["counts"]["right"] < hits["right"] <= hits["seen"] <= hits["sent"]
    assert 2 == hits["processes"]


def test_files_are_no_hits(serve: Servers, tmp_path: Path) -> None:
    """Answers of the server itself must be told apart from answers of the application."""
    (tmp_path / "page.txt").write_text("page", encoding="ascii")
    flags = ("--processes", "1", "--static", f"/files={tmp_path}")
    server = serve(APPLICATION, *flags, "--control", str(tmp_path / "control.sock"))
    report = bench(f"http://127.0.0.1:{server.port}/files/page.txt", *SURE, "--count-hits")

    assert "hits" in gates(report)
    assert 0 == report["hits"]["seen"]


def test_nobody_counts(serve: Servers) -> None:
    """Without the middleware nothing is measured, and the message says what is missing."""
    server = serve(APPLICATION)
    done = run(f"http://127.0.0.1:{server.port}/", *SURE, "--count-hits")

    assert "the application needs adyton.counting around it" in done.stderr
    assert (1, "") == (done.returncode, done.stdout)


def test_asgi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of ASGI must be counted; other scopes, such as the lifespan, must not."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sent: list[MutableMapping[str, Any]] = []

    async def application(scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": f"{scope['type']} was seen"})

    async def send(message: MutableMapping[str, Any]) -> None:
        await asyncio.sleep(0)
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return await asyncio.sleep(0, {"type": "http.request"})

    async def ask() -> None:
        counted = adyton.counting.asgi(application)
        for kind, path in [("lifespan", ""), ("http", "/"), ("http", "/a"), ("http", adyton.counting.PATH)]:
            await counted({"type": kind, "path": path, "server": ("127.0.0.1", 80)}, receive, send)

    asyncio.run(ask())
    *passed, start, body = sent

    assert ["lifespan was seen", "http was seen", "http was seen"] == [message["type"] for message in passed]
    assert 200 == start["status"]
    assert {"hits": 2, "processes": 1} == json.loads(body["body"])
    assert (b"content-length", str(len(body["body"])).encode()) in start["headers"]


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count left by an ended server is removed; one left by a process of a living server still counts."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"adyton-hits-{os.getuid()}"
    folder.mkdir()
    nobody = 1 << 30
    ended, worker = folder / f"{nobody}-80-{nobody}-a", folder / f"{os.getppid()}-80-{nobody}-b"
    ended.write_bytes((5).to_bytes(8, "little"))
    worker.write_bytes((7).to_bytes(8, "little"))
    counted = adyton.counting.wsgi(lambda _environ, _start: [b""])
    environ = {"SERVER_PORT": "80", "PATH_INFO": "/"}
    counted(environ, lambda *_: lambda _: None)
    [body] = counted(environ | {"PATH_INFO": adyton.counting.PATH}, lambda *_: lambda _: None)

    assert {"hits": 8, "processes": 2} == json.loads(body)
    assert not ended.exists()


def test_folder_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that somebody else may have put there is not used."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"adyton-hits-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    counted = adyton.counting.wsgi(lambda _environ, _start: [b""])

    with pytest.raises(PermissionError, match="belongs to another user"):
        counted({"PATH_INFO": "/"}, lambda *_: lambda _: None)
