"""Variables that an application finds in its environ: PEP 3333, and sections 1 and 2 of our rules."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from support.client import chunked, request

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers


def environ(server: Server, target: str = "/environ", **asked: Any) -> dict[str, Any]:
    """Return the environ of a request."""
    told: dict[str, Any] = server.fetch(target, **asked).json()["environ"]
    return told


def test_is_a_dict(site: Server) -> None:
    """The environ is a real `dict` with `str` keys, not of a subclass."""
    told = site.fetch("/environ").json()

    assert "<class 'dict'>" == told["type"]
    assert [] == told["wrong"]


def test_variables(site: Server) -> None:
    """All variables that PEP 3333 asks for are there, with their types."""
    with site.connect() as connection:
        told = connection.get("/environ/a%20b?c=d%20e").json()["environ"]
        client = connection.socket.getsockname()
    expected = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/environ/a b",
        "QUERY_STRING": "c=d%20e",
        "REQUEST_URI": "/environ/a%20b?c=d%20e",
        "SERVER_NAME": told["SERVER_NAME"],
        "SERVER_PORT": str(site.port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_PORT": str(client[1]),
        "REQUEST_SCHEME": "http",
        "HTTP_HOST": "localhost",
        "wsgi.version": [1, 0],
        "wsgi.url_scheme": "http",
        "wsgi.multithread": os.environ.get("ADYTON_TEST_THREADS") != "1",
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }

    assert expected == {name: told.get(name) for name in expected}
    assert told["SERVER_NAME"]
    assert told["SERVER_SOFTWARE"].startswith("adyton/")
    assert {"wsgi.input", "wsgi.errors", "wsgi.file_wrapper", "adyton.version"} <= told.keys()


def test_proxies_are_not_believed(plain: Server) -> None:
    """Fields in which a proxy tells about its client can be read, and change nothing else."""
    fields = [("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "other")]
    told = environ(plain, fields=[*fields, ("Script-Name", "/prefix")])
    expected = {
        "HTTP_X_FORWARDED_FOR": "1.2.3.4",
        "HTTP_X_FORWARDED_PROTO": "https",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "HTTP_HOST": "localhost",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/environ",
    }

    assert expected == {name: told.get(name) for name in expected}


def test_no_more_than_that(plain: Server) -> None:
    """The environ must have nothing of the process's environment, and no field that was not sent."""
    told = environ(plain)
    absent = {"CONTENT_TYPE", "CONTENT_LENGTH", "HTTPS", "PATH", "HOME", "AUTH_TYPE", "REMOTE_USER"}

    assert set() == absent & told.keys()
    assert ["HTTP_HOST"] == [name for name in told if name.startswith("HTTP_")]


def test_types_are_exact(plain: Server) -> None:
    """Flags are bool, the version is a tuple: frameworks compare with `is`."""
    told = environ(plain)

    for name in ("wsgi.multithread", "wsgi.multiprocess", "wsgi.run_once", "wsgi.input_terminated"):
        assert isinstance(told[name], bool)
    assert isinstance(told["wsgi.version"], list)


def test_content_fields(site: Server) -> None:
    """Type and length of the body must have their own keys, and no `HTTP_` keys."""
    told = environ(site, method="POST", fields=[("Content-Type", "a/b; c=d")], body=b"12345")

    assert "a/b; c=d" == told["CONTENT_TYPE"]
    assert "5" == told["CONTENT_LENGTH"]
    assert set() == {"HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH"} & told.keys()


@pytest.mark.parametrize("data", [b"", b"x", b"x" * 100_000])
def test_chunked_body_has_a_length(site: Server, data: bytes) -> None:
    """A body in chunks is whole when the application is called: it must have a CONTENT_LENGTH."""
    body = chunked(*filter(None, [data[:1], data[1:]]))
    told = environ(site, method="POST", fields=[("Transfer-Encoding", "chunked")], body=body)

    assert str(len(data)) == told["CONTENT_LENGTH"]
    assert "HTTP_TRANSFER_ENCODING" not in told


def test_streamed_chunks_have_no_length(serve: Servers, applications: Path) -> None:
    """With `--stream-body` nobody knows the length: the end of the input is the end of the body."""
    site = serve(applications, "--stream-body=on", "--threads=2")
    body = chunked(b"one", b"two")
    told = environ(site, method="POST", fields=[("Transfer-Encoding", "chunked")], body=body)

    assert "CONTENT_LENGTH" not in told
    assert told["wsgi.input_terminated"] is True


def test_header_names(site: Server) -> None:
    """Names become capitals with underscores; common and uncommon ones alike."""
    fields = [
        ("Accept", "a/b"),
        ("accept-encoding", "gzip"),
        ("USER-AGENT", "tests"),
        ("X-Custom-Field", "1"),
        ("x-a-b-c-1", "2"),
        ("Sec-Ch-Ua", '"a"'),
        ("If-None-Match", '"x"'),
        ("Authorization", "Basic bWU6bWU="),
        ("Z", "3"),
    ]
    told = environ(site, fields=fields)

    assert {
        "HTTP_ACCEPT": "a/b",
        "HTTP_ACCEPT_ENCODING": "gzip",
        "HTTP_USER_AGENT": "tests",
        "HTTP_X_CUSTOM_FIELD": "1",
        "HTTP_X_A_B_C_1": "2",
        "HTTP_SEC_CH_UA": '"a"',
        "HTTP_IF_NONE_MATCH": '"x"',
        "HTTP_Z": "3",
        "HTTP_HOST": "localhost",
    } == {
        name: value
        for name, value in told.items()
        if name.startswith("HTTP_") and name != "HTTP_AUTHORIZATION"
    }


def test_many_unknown_names(plain: Server) -> None:
    """Names that the server does not know must be right, too, however many there have been."""
    for start in range(0, 4000, 80):
        fields = [(f"X-Name-{number}", str(number)) for number in range(start, start + 80)]
        told = environ(plain, fields=fields)

        assert {f"HTTP_X_NAME_{number}": str(number) for number in range(start, start + 80)} == {
            name: value for name, value in told.items() if name.startswith("HTTP_X_")
        }


def test_names_are_not_confused(plain: Server) -> None:
    """A name must not be confused with another name that hashes alike or begins alike."""
    fields = [("Accep", "1"), ("Acceptt", "2"), ("Hos", "3"), ("Hostt", "4"), ("Cookies", "5")]
    told = environ(plain, fields=fields)

    assert ["1", "2", "3", "4", "5"] == [
        told[f"HTTP_{name}"] for name in ("ACCEP", "ACCEPTT", "HOS", "HOSTT", "COOKIES")
    ]
    assert "localhost" == told["HTTP_HOST"]


def test_repeated_fields_are_joined(site: Server) -> None:
    """Lists are joined by a comma, cookies by a semicolon."""
    fields = [("Accept", "a/b"), ("Cookie", "a=1"), ("X-A", "1"), ("accept", "c/d")]
    fields += [("cookie", "b=2"), ("X-A", ""), ("X-A", "3")]
    told = environ(site, fields=fields)

    assert "a/b, c/d" == told["HTTP_ACCEPT"]
    assert "a=1; b=2" == told["HTTP_COOKIE"]
    assert told["HTTP_X_A"] in {"1, , 3", "1, 3"}


def test_values_do_not_stay(plain: Server) -> None:
    """A field of one request is not in the environ of the next, on whatever connection."""
    with plain.connect() as connection:
        first = connection.get("/environ", fields=[("X-A", "1"), ("Cookie", "a=b")])
        second = connection.get("/environ")

    assert "1" == first.json()["environ"]["HTTP_X_A"]
    assert set() == {"HTTP_X_A", "HTTP_COOKIE"} & second.json()["environ"].keys()


def test_changes_do_not_stay(site: Server) -> None:
    """A change that an application makes in its environ is gone with the request."""
    with site.connect() as connection:
        assert [{}, {}, {}] == [connection.get("/changes").json() for _ in range(3)]
        assert "localhost" == connection.get("/environ").json()["environ"]["HTTP_HOST"]
        told = connection.get("/environ").json()["environ"]
    assert "changed" not in told.values()


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/environ/", "/environ/"),
        ("/environ/%41", "/environ/A"),
        ("/environ/%2B+", "/environ/++"),
        ("/environ/%25", "/environ/%"),
        ("/environ/%2541", "/environ/%41"),
        ("/environ/caf%C3%A9", "/environ/caf\xc3\xa9"),
        ("/environ/%FF", "/environ/\xff"),
        ("/environ/%c3%a9", "/environ/\xc3\xa9"),
        ("/environ//a//", "/environ//a//"),
        ("/environ/;a=b", "/environ/;a=b"),
        ("/%65nviron", "/environ"),
    ],
)
def test_path(site: Server, target: str, path: str) -> None:
    """PATH_INFO is decoded once, as latin-1; REQUEST_URI is what was sent."""
    told = environ(site, target)

    assert path == told["PATH_INFO"]
    assert target == told["REQUEST_URI"]
    assert "" == told["SCRIPT_NAME"]


@pytest.mark.parametrize("path", ["/environ/%", "/environ/%2", "/environ/%zz", "/environ/%G1"])
def test_broken_escape(plain: Server, path: str) -> None:
    """A percent sign without two hexadecimal digits is refused, or stays as it is."""
    response = plain.fetch(path)

    assert response.status in {200, 400}
    if response.status == 200:
        assert path == response.json()["environ"]["PATH_INFO"]


@pytest.mark.parametrize("path", ["/environ/%00", "/%00", "/environ/a%00b"])
def test_nul_in_path(plain: Server, path: str) -> None:
    """An encoded NUL must be refused, or reach the application as it is: it must not cut the path."""
    response = plain.fetch(path)

    assert response.status in {200, 400, 404}
    if response.status == 200:
        assert "\0" in response.json()["environ"]["PATH_INFO"]


@pytest.mark.parametrize("query", ["", "a", "a=b&c", "%41=%zz", "a?b", "+"])
def test_query(site: Server, query: str) -> None:
    """QUERY_STRING is not decoded, and always there."""
    assert query == environ(site, f"/environ?{query}")["QUERY_STRING"]


def test_latin_1_values(site: Server) -> None:
    """Bytes above ASCII in a value come as latin-1."""
    told = environ(site, fields=[("X-A", "caf\xe9 \x80\xff")])

    assert "caf\xe9 \x80\xff" == told["HTTP_X_A"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"])
def test_method(plain: Server, method: str) -> None:
    """The method comes as it was sent (the validator does not know all of them)."""
    data = request("/environ", method=method)
    with plain.connect() as connection:
        response = connection.ask(data)

    if response.status != 501:
        assert method == response.json()["environ"]["REQUEST_METHOD"]
    else:
        assert "PROPFIND" == method


def test_protocol_1_0(site: Server) -> None:
    """HTTP/1.0 without Host has a SERVER_NAME to build URLs from."""
    with site.connect() as connection:
        told = connection.ask(b"GET /environ HTTP/1.0\r\n\r\n").json()["environ"]

    assert "HTTP/1.0" == told["SERVER_PROTOCOL"]
    assert "HTTP_HOST" not in told
    assert told["SERVER_NAME"]


def test_absolute_target(site: Server) -> None:
    """The authority of an absolute target is the Host; the path is the path."""
    with site.connect() as connection:
        told = connection.get("http://localhost/environ/a?b").json()["environ"]

    assert "/environ/a" == told["PATH_INFO"]
    assert "b" == told["QUERY_STRING"]
    assert "localhost" == told["HTTP_HOST"]


@pytest.mark.parametrize(("setting", "path"), [("on", "/environ/a/b"), ("off", "/environ//a///b")])
def test_merge_slashes(serve: Servers, applications: Path, setting: str, path: str) -> None:
    """Runs of slashes become one when asked for; REQUEST_URI keeps them."""
    told = environ(serve(applications, f"--merge-slashes={setting}"), "/environ//a///b?c//d")

    assert path == told["PATH_INFO"]
    assert "c//d" == told["QUERY_STRING"]
    assert "/environ//a///b?c//d" == told["REQUEST_URI"]


def test_env_setting_is_in_the_process(serve: Servers, tmp_path: Path) -> None:
    """`--env` reaches os.environ before the application is imported."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os\n"
        "SEEN = os.environ['TOLD']\n"
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [SEEN.encode()]\n",
        encoding="utf-8",
    )
    server = serve(program, "--env", "TOLD=by the flag", env={"TOLD": os.devnull})

    assert b"by the flag" == server.fetch().body


TAMPERS = """
import json

def application(environ, start_response):
    said = {name: value for name, value in environ.items() if isinstance(value, str)}
    environ.update(dict.fromkeys(said, "tampered"), HTTP_X_LEFT="tampered")
    del environ["REMOTE_PORT"]
    body = json.dumps(said).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
"""


def test_one_request_after_the_other(serve: Servers, tmp_path: Path) -> None:
    """Each request of a connection must have its client and fields, and nothing of earlier requests."""
    target = tmp_path / "tampers.py"
    target.write_text(TAMPERS, encoding="utf-8")
    server = serve(target, "--threads=1")
    with ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in range(8)]
        for turn in range(4):
            for connection in connections:
                own = f"{connection.socket.getsockname()[1]}"
                said = connection.get(f"/{turn}", fields=[(f"X-{own}-{turn}", own)]).json()

                assert ("127.0.0.1", own) == (said["REMOTE_ADDR"], said["REMOTE_PORT"])
                assert f"/{turn}" == said["PATH_INFO"] == said["REQUEST_URI"]
                assert {"HTTP_HOST", f"HTTP_X_{own}_{turn}"} == {name for name in said if "HTTP_" in name}
                assert "tampered" not in said.values()
                assert not [name for name in said if "room" in name]
