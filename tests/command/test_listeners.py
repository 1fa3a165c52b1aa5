"""Where a server can listen: ports, both families, unix sockets, sockets that were left open."""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.client import Connection, fetch
from support.control import reload, status
from support.server import run, until

if TYPE_CHECKING:
    from support.server import Servers


def test_several(serve: Servers, application: Path, tmp_path: Path) -> None:
    """`--bind` can be repeated; each has its line in the banner."""
    path = tmp_path / "socket"
    server = serve(application, "--bind", "127.0.0.1:0", "--bind", f"unix:{path}", listeners=3)

    assert 3 == len({str(address) for address in server.addresses})
    assert str(path) == server.addresses[2]
    assert [b"hello"] * 3 == [fetch(address).body for address in server.addresses]


def test_ipv6(serve: Servers, application: Path) -> None:
    """An IPv6 address is written in brackets, in the setting and in the banner."""
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        done = run("serve", str(application), "--bind", "[::1]:0")

        assert "[::1]:0" in done.stderr
        return
    server = serve(application, bind="[::1]:0")

    assert "::1" == server.address[0]
    assert f"http://[::1]:{server.port}" in server.log()
    with server.connect() as connection:
        told = connection.get("/where", fields=[("Host", f"[::1]:{server.port}")])

        assert 200 == told.status


@pytest.mark.parametrize("flags", [[], ["--processes", "2"]])
def test_every_address(serve: Servers, application: Path, flags: list[str]) -> None:
    """A server at `::` is reached at every address, IPv4 addresses included."""
    if not Path("/proc/net/if_inet6").exists():
        done = run("serve", str(application), "--bind", "[::]:0")

        assert "[::]:0" in done.stderr
        return
    server = serve(application, *flags, bind="[::]:0")
    for host in ("127.0.0.1", "::1"):
        assert b"hello" == fetch((host, server.port)).body


def test_every_address_of_both_kinds(serve: Servers, application: Path) -> None:
    """Beside `0.0.0.0` with the same port, `::` stands for every IPv6 address."""
    if not Path("/proc/net/if_inet6").exists():
        return
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    both = ["--bind", f"0.0.0.0:{port}", "--bind", f"[::]:{port}"]
    server = serve(application, *both, listeners=3)
    for host in ("127.0.0.1", "::1"):
        assert b"hello" == fetch((host, port)).body
    assert 3 == len(server.addresses)


def test_port_only(serve: Servers, application: Path) -> None:
    """`:PORT` stands for every IPv4 address."""
    server = serve(application, bind=":0")

    assert "0.0.0.0" == server.address[0]
    assert b"hello" == fetch(("127.0.0.1", server.port)).body


def test_unix(serve: Servers, application: Path, tmp_path: Path) -> None:
    """A unix socket serves like a port, and is gone afterwards."""
    path = tmp_path / "socket"
    server = serve(application, bind=f"unix:{path}")

    assert str(path) == server.address
    assert stat.S_ISSOCK(path.stat().st_mode)
    with server.connect() as connection:
        for _ in range(3):
            assert b"hello" == connection.get().body

    server.stop()

    assert not path.exists()


RIGHTS = [
    ("022", [], 0o755),
    ("077", [], 0o700),
    ("022", ["--socket-mode", "660"], 0o660),
    ("077", ["--socket-mode", "0666"], 0o666),
    ("000", ["--socket-mode", "600"], 0o600),
]


@pytest.mark.parametrize(("umask", "flags", "expected"), RIGHTS)
def test_unix_rights(
    serve: Servers, application: Path, tmp_path: Path, umask: str, flags: list[str], expected: int
) -> None:
    """A unix socket has the rights of `--socket-mode`, or else the rights that the umask leaves."""
    path = tmp_path / "socket"
    serve(application, "--umask", umask, *flags, bind=f"unix:{path}")

    assert expected == stat.S_IMODE(path.stat().st_mode)


def test_unix_rights_of_others(serve: Servers, application: Path, tmp_path: Path) -> None:
    """`--socket-mode` is for `--bind` alone: the sockets of `--admin` and `--control` keep their rights."""
    paths = bound, admin, control = [tmp_path / name for name in ("bound", "admin", "control")]
    flags = ["--processes", "1", "--admin", f"unix:{admin}", "--control", str(control)]
    serve(application, *flags, "--umask", "027", "--socket-mode", "666", bind=f"unix:{bound}")

    assert [0o666, 0o750, 0o600] == [stat.S_IMODE(path.stat().st_mode) for path in paths]


def test_unix_leftover(serve: Servers, application: Path, tmp_path: Path) -> None:
    """A socket that a crashed server left behind is replaced."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as leftover:
        leftover.bind(str(path))

    assert b"hello" == serve(application, bind=f"unix:{path}").fetch().body


def test_unix_in_use(serve: Servers, application: Path, tmp_path: Path) -> None:
    """A socket that another server uses is not taken away, nor is a file that is no socket."""
    path = tmp_path / "socket"
    server = serve(application, bind=f"unix:{path}")
    second = run("serve", str(application), "--bind", f"unix:{path}")

    assert 0 != second.returncode
    assert str(path) in second.stderr
    assert b"hello" == server.fetch().body

    file = tmp_path / "file"
    file.write_text("precious", encoding="utf-8")
    third = run("serve", str(application), "--bind", f"unix:{file}")

    assert 0 != third.returncode
    assert "precious" == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("processes", ["0", "1"])
def test_abstract(serve: Servers, application: Path, tmp_path: Path, processes: str) -> None:
    """An abstract name (`@…`) is in no file system, is shown as it was given, and is free afterwards."""
    name = f"@adyton test {os.getpid()}"
    for _ in range(2):
        server = serve(application, "--processes", processes, bind=f"unix:{name}", cwd=tmp_path)
        assert [f"adyton: listening on unix:{name}"] == re.findall(
            "^adyton: listening .*", server.log(), re.MULTILINE
        )
        # The name has a space in it.
        server.addresses = [name]
        assert b"hello" == server.fetch().body
        taken = run("serve", str(application), "--bind", f"unix:{name}")
        assert 1 == taken.returncode
        assert f"cannot listen at unix:{name}: Address already in use" in taken.stderr
        server.stop()

    assert [] == list(tmp_path.iterdir())


def test_abstract_stays_over_reloads(serve: Servers, application: Path, tmp_path: Path) -> None:
    """Workers that come with a reload listen at the name that was bound at the start."""
    name = f"@adyton-test-{os.getpid()}"
    control = tmp_path / "control.sock"
    flags = ["--processes", "2", "--control", str(control)]
    server = serve(application, *flags, bind=f"unix:{name}")

    def workers() -> set[int]:
        return {worker["pid"] for worker in status(control)["workers"] if worker["state"] == "serving"}

    before = workers()
    for _ in range(2):
        assert 0 == reload(control)[0]
        assert [b"hello"] * 8 == [server.fetch().body for _ in range(8)]
    assert until(lambda: len(workers() - before) == 2)
    assert 1 == run("serve", str(application), "--bind", f"unix:{name}").returncode
    server.stop()

    assert [f"adyton: listening on unix:{name}"] == re.findall(
        "^adyton: listening .*", server.log(), re.MULTILINE
    )
    assert b"hello" == serve(application, bind=f"unix:{name}").fetch().body


def test_abstract_has_no_rights(application: Path) -> None:
    """`--socket-mode` is refused for an abstract name, which it would not protect."""
    done = run("serve", str(application), "--bind", "unix:@adyton-test", "--socket-mode", "660")

    assert 1 == done.returncode
    assert "--socket-mode cannot say who" in done.stderr


@pytest.mark.parametrize(
    ("processes", "flags"),
    [
        ("0", ("--bind", "127.0.0.1:{port}")),
        ("1", ("--bind", "127.0.0.1:{port}")),
        ("1", ("--admin", "127.0.0.1:{port}", "--control", "control")),
        ("1", ("--control", "file")),
        ("1", ("--control", "nowhere/control")),
    ],
)
def test_no_file_is_left(application: Path, tmp_path: Path, processes: str, flags: tuple[str, ...]) -> None:
    """A start that fails half-way removes the sockets that it has made, and no other file."""
    (tmp_path / "file").write_text("precious", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        given = [flag.format(port=port) for flag in flags]
        bound = ["--bind", "unix:socket", "--processes", processes, *given]
        done = run("serve", str(application), *bound, cwd=tmp_path)

    assert 1 == done.returncode, done.stderr
    assert ["file"] == [path.name for path in tmp_path.iterdir()]


def test_port_in_use(serve: Servers, application: Path) -> None:
    """A port that is in use gives one sentence, and no traceback."""
    server = serve(application)
    second = run("serve", str(application), "--bind", f"127.0.0.1:{server.port}")

    assert second.returncode not in {0, 3}
    assert str(server.port) in second.stderr
    assert "Traceback" not in second.stderr
    assert b"hello" == server.fetch().body


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_inherited(serve: Servers, application: Path, tmp_path: Path, family: int) -> None:
    """`fd://N` is a listening socket that the starting program has left open for the server."""
    with socket.socket(family) as listener:
        listener.bind(str(tmp_path / "socket") if family == socket.AF_UNIX else ("127.0.0.1", 0))
        listener.listen()
        number = listener.fileno()
        server = serve(application, bind=f"fd://{number}", pass_fds=[number])
        address = listener.getsockname()
        with Connection(address) as connection:
            assert b"hello" == connection.get().body

        server.stop()
    if family == socket.AF_UNIX:
        assert (tmp_path / "socket").exists()


def test_connections_before_the_start(serve: Servers, application: Path) -> None:
    """A connection that waits in an inherited socket is served: nothing is lost at a start."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with Connection(listener.getsockname()) as early:
            early.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            serve(application, bind=f"fd://{listener.fileno()}", pass_fds=[listener.fileno()])

            assert b"hello" == early.receive().body


@pytest.mark.parametrize("number", ["999", "0", "x"])
def test_wrong_descriptor(application: Path, number: str) -> None:
    """A descriptor that is no listening socket is refused with that reason."""
    done = run("serve", str(application), "--bind", f"fd://{number}")

    assert done.returncode in {1, 2}
    assert "fd://" in done.stderr
    assert "panicked" not in done.stderr


def test_fast_restart(serve: Servers, application: Path, port: int) -> None:
    """The port can be taken again at once, although connections were open."""
    first = serve(application, bind=f"127.0.0.1:{port}")
    with first.connect() as connection:
        connection.get()
        first.stop()
    second = serve(application, bind=f"127.0.0.1:{port}")

    assert b"hello" == second.fetch().body
