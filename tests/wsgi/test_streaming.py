"""Streams must be prompt: an item is sent while the application delays the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.client import request

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server


@pytest.mark.parametrize("target", ["/slowly", "/write-slowly"])
@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_prompt(site: Server, tmp_path: Path, target: str, version: str) -> None:
    """The client must get the first item before the second exists; only then is the second released."""
    flag = tmp_path / "flag"
    with site.connect() as connection:
        connection.send(request(f"{target}?{flag}", version=version))
        while b"first" not in connection.reader.buffer:
            assert connection.reader.fill()
        flag.touch()
        response = connection.receive()

        assert b"firstsecond" == response.body
        assert response.complete


def test_slow_reader_holds_back_the_application(plain: Server) -> None:
    """Items are not piled up in memory for a client that does not read."""
    plain.fetch("/noted")
    before = plain.rss()
    with plain.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request("/pour?100"))
        connection.socket.recv(1000)

        assert b"hello, world" == plain.fetch("/").body
        assert 60 > len(plain.fetch("/noted").json())
        assert 40 << 20 > plain.rss() - before
