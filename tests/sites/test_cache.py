"""Answers kept for other clients (RFC 9111): which are kept, for whom, for how long, and their heads."""

from __future__ import annotations

import gzip
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from processes.conftest import admin_of
from sites import counted
from sites.conftest import write
from sites.scripts import SHELL, script
from support import client
from support.client import request
from support.server import run, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.http import Response
    from support.server import Server, Servers

    Begin = Callable[..., Server]

FILE = """
[server]
threads = 16
processes = 1
cache = "10m"
trusted-proxies = ["127.0.0.2"]
{server}

[[sites]]
hosts = ["localhost", "other.example"]
root = "public"

[[sites.routes]]
app = "counted:application"

[[sites.routes]]
path = "/calls"
app = "counted:calls"
cache = "off"

[[sites.routes]]
path = "/own/"
app = "counted:application"
cache = "0s"

[[sites.routes]]
path = "/same/"
app = "counted:application"
cache-cookies = true

[[sites.routes]]
path = "/packed/"
app = "counted:application"
compress = ["br", "gzip"]
compress-bytes-min = 10

[[sites.routes]]
path = "/edited/"
app = "counted:application"
headers = {{ X-Edited = "yes" }}
remove-headers = ["X-Gone"]

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"

[[sites]]
hosts = ["second.example"]
[[sites.routes]]
app = "counted:application"
"""

GROUP = """
[server]
processes = 1
cache = "10m"

[groups.one]
processes = 1

[[sites]]
[[sites.routes]]
app = "counted:application"
group = "one"
"""

CLIENTS = 64


@pytest.fixture
def begin(serve: Servers, project: Path) -> Begin:
    """Return a function that starts a server of the file."""
    shutil.copy(counted.__file__, project)
    (project / "public/cgi-bin").mkdir(parents=True, exist_ok=True)

    def begun(*flags: str, server: str = "") -> Server:
        return serve(write(project, FILE.format(server=server)), *flags, cwd=project)

    return begun


@pytest.fixture
def server(begin: Begin) -> Server:
    """Return a server of the file."""
    return begin()


def target(path: str, /, **query: str | int | list[str]) -> str:
    """Return the address of an answer."""
    pairs = []
    for name, values in query.items():
        pairs += [(name, value) for value in (values if isinstance(values, list) else [values])]
    return path + "?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in pairs)


def number(response: Response) -> int:
    """Return the number of the call that has made this answer."""
    return int(response.body.split()[0])


def status(response: Response) -> str:
    """Return what the answer's `Cache-Status` says."""
    name, _, told = response["Cache-Status"].partition("; ")
    assert "adyton" == name
    return re.sub(r"ttl=-?\d+", "ttl", told)


def calls(server: Server, path: str) -> int:
    """Return how often the application was called for a path."""
    return int(server.fetch(target("/calls", path=path)).body)


def collapsed(admin: tuple[str, int]) -> int:
    """Return how many requests have waited for the answer to another request."""
    found = re.search(
        r"^adyton_cache_collapsed_total (\d+)$", client.fetch(admin, "/metrics").body.decode(), re.MULTILINE
    )
    assert found is not None
    return int(found[1])


def test_an_answer_is_kept(server: Server) -> None:
    """The second client gets the first client's answer, and `Cache-Status` tells both."""
    first = server.fetch("/a")
    second = server.fetch("/a")

    assert "fwd=miss; stored" == status(first)
    assert "hit; ttl" == status(second)
    assert (1, 1) == (number(first), number(second))
    assert first.body == second.body
    assert first["Date"] == second["Date"]
    assert "0" == second["Age"]
    assert "Age" not in first
    assert 1 == calls(server, "/a")


def test_age_grows(server: Server) -> None:
    """`Age` says how long the answer was kept, and the rest of its lifetime shrinks accordingly."""
    server.fetch("/a")

    assert until(lambda: int(server.fetch("/a")["Age"]) >= 1)
    response = server.fetch("/a")
    found = re.search(r"ttl=(\d+)", response["Cache-Status"])
    assert found is not None
    assert 600 == int(found[1]) + int(response["Age"])


@pytest.mark.parametrize(
    ("fields", "is_kept"),
    [
        (["Cache-Control: no-store"], False),
        (["Cache-Control: private"], False),
        (["Cache-Control: no-cache"], False),
        (["Cache-Control: max-age=0"], False),
        (["Cache-Control: s-maxage=0, max-age=60"], False),
        (["Cache-Control: max-age=60", "Cache-Control: private"], False),
        (["Set-Cookie: a=b"], False),
        (["Set-Cookie: a=b", "Cache-Control: public, max-age=60"], False),
        (["Vary: *"], False),
        (["Expires: 0"], False),
        (["Pragma: no-cache"], False),
        ([], True),
        (["Cache-Control: s-maxage=60, max-age=0"], True),
        (["Vary: Accept-Language"], True),
    ],
)
def test_the_answer_decides(server: Server, fields: list[str], is_kept: bool) -> None:  # noqa: FBT001 - a case
    """Fields of the answer about caches count, and override the settings of the route."""
    address = target("/a", f=fields)
    numbers = [number(server.fetch(address, lint_answers=False)) for _ in range(2)]

    assert [1, 1 if is_kept else 2] == numbers


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("200 OK", True),
        ("404 Not Found", True),
        ("301 Moved", True),
        ("302 Found", False),
        ("400 Bad", False),
        ("405 No", False),
        ("500 Wrong", False),
        ("503 Busy", False),
        ("206 Part", False),
    ],
)
def test_statuses(server: Server, line: str, is_kept: bool) -> None:  # noqa: FBT001 - a case
    """Failures, partial answers, and other answers that may be right for one request only are not kept."""
    address = target("/a", s=line)
    for _ in range(2):
        server.fetch(address, lint_answers=False)

    assert calls(server, "/a") == (1 if is_kept else 2)


def test_what_an_answer_says_itself(server: Server) -> None:
    """With `0s`, only answers that allow it themselves are kept."""
    for query, expected in [({}, 2), ({"f": ["Cache-Control: max-age=60"]}, 1)]:
        path = f"/own/{expected}"
        for _ in range(2):
            server.fetch(target(path, **query))

        assert expected == calls(server, path)


def test_credentials(server: Server) -> None:
    """A request with `Authorization` gets no kept answer, and its own answer is not kept for others."""
    secret = [("Authorization", "Basic YTpi")]
    first = server.fetch("/a", fields=secret)
    second = server.fetch("/a")
    third = server.fetch("/a", fields=secret)

    assert ["fwd=bypass", "fwd=miss; stored", "fwd=bypass"] == [status(one) for one in (first, second, third)]
    assert [1, 2, 3] == [number(one) for one in (first, second, third)]


def test_cookies(server: Server) -> None:
    """Answers without fields about caches are only for clients without cookies, unless the route says so."""
    cookie = [("Cookie", "user=ann")]
    assert [1, 2, 3, 2] == [number(server.fetch("/a", fields=fields)) for fields in (cookie, [], cookie, [])]
    assert [1, 1] == [number(server.fetch("/same/a", fields=fields)) for fields in (cookie, [])]
    said = target("/b", f=["Cache-Control: max-age=60"])
    assert [1, 1] == [number(server.fetch(said, fields=fields)) for fields in (cookie, [])]
    varies = target("/c", f=["Vary: Cookie"])
    others = [("Cookie", "user=bob")]
    found = [number(server.fetch(varies, fields=fields)) for fields in (cookie, others, cookie, others)]
    assert [1, 2, 1, 2] == found


def test_vary(server: Server) -> None:
    """Each value of a field that `Vary` names has its own answer."""
    address = target("/a", f=["Vary: Accept-Language, X-Other"], see="HTTP_ACCEPT_LANGUAGE")
    for language in ("de", "en", "de", "en"):
        response = server.fetch(address, fields=[("Accept-Language", language)])

        assert language == response.body.split()[1].decode()
    assert 2 == calls(server, "/a")


def test_what_is_part_of_the_address(server: Server) -> None:
    """Addresses that an application can tell apart have different answers, and none replaces another's."""
    see = ["HTTP_HOST", "HTTP_X_FORWARDED_HOST", "REQUEST_URI", "HTTP_X_ORIGINAL_URL"]
    query = target("", see=see)
    kinds: list[tuple[str, list[tuple[str, str]]]] = [
        ("/a", []),
        ("/%61", []),
        ("//a", []),
        ("/b/../a", []),
        ("/A", []),
        ("/a", [("Host", "other.example")]),
        ("/a", [("Host", "OTHER.example")]),
        ("/a", [("Host", "other.example:81")]),
        ("/a", [("Host", "second.example")]),
        ("/a", [("X-Forwarded-Host", "evil.example")]),
        ("/a", [("X-Original-URL", "/evil")]),
    ]
    rounds = [
        [server.fetch(path + query, fields=fields, lint_answers=False) for path, fields in kinds]
        for _ in range(2)
    ]

    for (path, fields), first, second in zip(kinds, *rounds, strict=True):
        assert (first.status, first.body) == (second.status, second.body), (path, fields)
    bodies = [response.body.partition(b" ")[2] for response in rounds[0] if response.status == 200]
    assert len(set(bodies)) == len(bodies)
    assert server.fetch("/a?x=1&y=2").body.split()[0] != server.fetch("/a?y=2&x=1").body.split()[0]


def test_requests_with_bodies(server: Server) -> None:
    """The application gets the body of a GET, and the answer is for nobody else."""
    first = server.fetch("/a", body=b"evil", lint_answers=False)
    second = server.fetch("/a", fields=[("X-HTTP-Method-Override", "DELETE")])

    assert ("fwd=bypass", "fwd=bypass") == (status(first), status(second))
    assert "fwd=miss; stored" == status(server.fetch("/a"))


def test_what_clients_want_of_caches_is_not_heard(server: Server) -> None:
    """A client cannot force the application to make a page anew."""
    server.fetch("/a")
    for value in ("no-cache", "no-store", "max-age=0", "only-if-cached"):
        response = server.fetch("/a", fields=[("Cache-Control", value), ("Pragma", "no-cache")])

        assert 1 == number(response)
    assert 1 == number(server.fetch("/a", fields=[("Range", "bytes=0-0")], lint_answers=False))


def test_head(server: Server) -> None:
    """HEAD is answered from the kept answer to a GET, and its own answer is not kept."""
    alone = server.fetch("/a", method="HEAD")
    got = server.fetch("/a")
    kept = server.fetch("/a", method="HEAD")

    assert "fwd=miss" == status(alone)
    assert 2 == number(got)
    assert "hit; ttl" == status(kept)
    assert got["Content-Length"] == kept["Content-Length"]
    assert b"" == kept.body


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("If-None-Match", '"one"'), 304),
        (("If-None-Match", '"two", W/"one"'), 304),
        (("If-None-Match", '"two"'), 200),
        (("If-Modified-Since", "Sun, 01 Nov 2020 00:00:00 GMT"), 304),
        (("If-Modified-Since", "Wed, 01 Jan 2020 00:00:00 GMT"), 200),
        (("If-Match", '"two"'), 412),
    ],
)
def test_conditions(server: Server, condition: tuple[str, str], expected: int) -> None:
    """Conditional requests are judged by the kept answer, as for files."""
    fields = ['ETag: "one"', "Last-Modified: Sun, 01 Nov 2020 00:00:00 GMT", "X-Other: here"]
    address = target("/a", f=fields)
    server.fetch(address)
    response = server.fetch(address, fields=[condition])

    assert expected == response.status
    assert 1 == calls(server, "/a")
    if expected == 304:
        assert ('"one"', "here", "0") == (response["ETag"], response["X-Other"], response["Age"])
        assert "Content-Type" not in response


@pytest.mark.parametrize("size", [0, 100, 40_000])
@pytest.mark.parametrize("pieces", [1, 3])
def test_bodies(server: Server, size: int, pieces: int) -> None:
    """Bodies of any length, in any number of pieces, are kept whole, with their length."""
    address = target("/a", size=size, **{"in": pieces})
    first = server.fetch(address)
    with server.connect() as connection:
        second, third = connection.get(address), connection.get(address)

    assert first.body == second.body == third.body
    assert str(len(first.body)) == second["Content-Length"]
    assert 1 == calls(server, "/a")


def test_old_clients(server: Server) -> None:
    """An HTTP/1.0 client gets a kept answer; an answer made for it is kept if its end is known."""
    data = request("/a", version="1.0")
    for expected in ("fwd=miss; stored", "hit; ttl"):
        with server.connect() as connection:
            assert expected == status(connection.ask(data))
    pieces = request(target("/b", **{"in": 3}), version="1.0")
    with server.connect() as connection:
        assert "fwd=miss" == status(connection.ask(pieces))
    assert "fwd=miss; stored" == status(server.fetch(target("/b", **{"in": 3})))


def test_one_call_for_many(server: Server) -> None:
    """Clients that come while the first client's request is in the application wait for its answer."""
    address = target("/a", wait=1)
    first = server.connect()
    first.send(request(address))
    assert until(lambda: calls(server, "/a") == 1)
    others = [server.connect() for _ in range(CLIENTS)]
    for connection in others:
        connection.send(request(address))
    server.fetch("/calls?open=1")
    answers = [connection.receive() for connection in (first, *others)]
    for connection in (first, *others):
        connection.socket.close()

    assert {1} == {number(answer) for answer in answers}
    told = [status(answer) for answer in answers]
    assert ["fwd=miss; stored"] == [one for one in told if not one.startswith("hit; ttl")]
    assert 1 == calls(server, "/a")


@pytest.mark.parametrize("how", [{"f": ["Cache-Control: no-store"]}, {"fail": "before"}, {"fail": "inside"}])
def test_who_waits_for_nothing(begin: Begin, how: dict[str, str]) -> None:
    """If the answer is not kept, fails or is cut off, all requests that waited get their own answers."""
    server, admin = admitted(begin)
    address = target("/a", wait=1, **how)
    connections = [server.connect(lint_answers=False) for _ in range(8)]
    for connection in connections:
        connection.send(request(address))

    assert until(lambda: collapsed(admin) >= 7)
    server.fetch("/calls?open=1")
    answers = [connection.receive() for connection in connections]
    for connection in connections:
        connection.socket.close()
    assert 8 == calls(server, "/a")
    assert {500 if how.get("fail") == "before" else 200} == {answer.status for answer in answers}
    assert {how.get("fail") != "inside"} == {answer.complete for answer in answers}


def test_the_first_client_goes(begin: Begin) -> None:
    """If the first client leaves, clients that wait for its answer get that answer, or another one."""
    server, admin = admitted(begin)
    address = target("/a", wait=1)
    first = server.connect()
    first.send(request(address))
    assert until(lambda: calls(server, "/a") == 1)
    others = [server.connect() for _ in range(4)]
    for connection in others:
        connection.send(request(address))
    assert until(lambda: collapsed(admin) == 4)
    first.abort()
    others.pop().abort()
    server.fetch("/calls?open=1")

    assert {200} == {connection.receive().status for connection in others}
    for connection in others:
        connection.socket.close()


def test_waiting_has_an_end(server: Server) -> None:
    """A request that has waited too long calls the application itself, without the first request's answer."""
    address = target("/a", wait=1)
    with server.connect() as first, server.connect() as second:
        first.send(request(address))
        assert until(lambda: calls(server, "/a") == 1)
        second.send(request(address))

        assert until(lambda: calls(server, "/a") == 2)
        server.fetch("/calls?open=1")
        assert {1, 2} == {number(first.receive()), number(second.receive())}


def test_stale_while_revalidate(server: Server) -> None:
    """One client waits for the new answer, and all other clients get the old one meanwhile."""
    address = target("/a", wait=2, f=["Cache-Control: max-age=1, stale-while-revalidate=600"])
    assert 1 == number(server.fetch(address))

    def renewed() -> int:
        while True:
            response = server.fetch(address)
            if status(response).startswith("fwd"):
                assert "fwd=stale; stored" == status(response)
                return number(response)

    with ThreadPoolExecutor(1) as pool:
        renewal = pool.submit(renewed)
        assert until(lambda: calls(server, "/a") == 2)
        stale = server.fetch(address)

        assert 1 == number(stale)
        assert re.fullmatch(r"adyton; hit; ttl=(-\d+|0)", stale["Cache-Status"])
        server.fetch("/calls?open=1")
        assert 2 == renewal.result()
    assert 2 == number(server.fetch(address))


def test_stale_answers_are_asked_for_whole(server: Server) -> None:
    """A condition of a client with an older version is not passed on, so that the new answer is whole."""
    address = target("/a", f=['ETag: "one"', "Cache-Control: max-age=1"], see="HTTP_IF_NONE_MATCH")
    assert 1 == number(server.fetch(address))
    condition = [("If-None-Match", '"zero"')]

    assert until(lambda: number(server.fetch(address, fields=condition)) == 2)
    assert b"None" == server.fetch(address).body.split()[1]


def test_unsafe_methods(server: Server) -> None:
    """An unsafe request removes the kept answer of its target, unless the request fails."""
    assert 1 == number(server.fetch("/a"))
    assert 2 == number(server.fetch("/a", method="POST", body=b"x"))
    assert 3 == number(server.fetch("/a"))
    bad = target("/b", s="404 Not Found")
    assert 1 == number(server.fetch(bad))
    assert 2 == number(server.fetch(bad, method="DELETE"))
    assert 1 == number(server.fetch(bad))


def test_cut_answers_are_not_kept(server: Server) -> None:
    """Answers that fail, or are shorter or longer than their Content-Length, are not kept."""
    cases: list[tuple[str, dict[str, str | list[str]]]] = [
        ("/a", {"fail": "inside"}),
        ("/b", {"f": ["Content-Length: 100"]}),
        ("/c", {"f": ["Content-Length: 1"]}),
    ]
    for path, how in cases:
        for _ in range(2):
            with server.connect(lint_answers=False) as connection:
                connection.get(target(path, **how))

        assert 2 == calls(server, path)


def test_memory_has_a_bound(begin: Begin) -> None:
    """Answers that are used least are removed first, and answers that are too large are not kept."""
    server = begin(server='cache-memory-max = "160k"')
    for name in range(40):
        server.fetch(target(f"/{name}", size=7000))
        assert 1 == number(server.fetch(target("/0", size=7000)))

    assert 2 == number(server.fetch(target("/1", size=7000)))
    assert 1 == number(server.fetch(target("/39", size=7000)))
    for _ in range(2):
        response = server.fetch(target("/large", size=20_000))
    assert 2 == number(response)


def test_scripts(server: Server, project: Path) -> None:
    """Answers of scripts are kept as well."""
    counts = "printf 'Content-Type: text/plain\\r\\n\\r\\n'; echo x >> count; wc -l < count"
    script(project, "count.sh", SHELL.format(counts))
    answers = [server.fetch("/cgi-bin/count.sh") for _ in range(3)]

    assert [b"1", b"1", b"1"] == [answer.body.strip() for answer in answers]
    assert ["fwd=miss; stored", "hit; ttl", "hit; ttl"] == [status(answer) for answer in answers]


def test_compressed_answers(server: Server) -> None:
    """Compressed answers are kept as they were sent, one form for each coding."""
    address = target("/packed/a", size=5000)
    packed = [server.fetch(address, fields=[("Accept-Encoding", "gzip")]) for _ in range(2)]
    plain = [server.fetch(address) for _ in range(2)]

    assert ["fwd=miss; stored", "hit; ttl"] == [status(one) for one in packed]
    assert ["fwd=miss; stored", "hit; ttl"] == [status(one) for one in plain]
    assert packed[0].body == packed[1].body
    assert gzip.decompress(packed[1].body)[2:] == plain[1].body[2:]
    assert ["gzip"] == packed[1].values("Content-Encoding")
    assert [] == plain[1].values("Content-Encoding")
    assert "Accept-Encoding" in packed[1]["Vary"]


def test_what_a_route_changes(server: Server) -> None:
    """The answer is kept as it was sent, with the fields that the route has changed."""
    address = target("/edited/a", f=["X-Gone: here"])
    for expected in ("fwd=miss; stored", "hit; ttl"):
        response = server.fetch(address)

        edited = (response.values("X-Edited"), response.values("X-Gone"))
        assert (expected, ["yes"], []) == (status(response), *edited)


def test_a_reload_forgets(begin: Begin, project: Path) -> None:
    """After a reload, answers kept under the old file of sites are not used."""
    server = begin("--processes", "1", "--control", "control.sock")
    assert 1 == number(server.fetch("/a"))
    done = run("reload", "--control", "control.sock", cwd=project)
    assert 0 == done.returncode, done.stderr

    assert "fwd=miss; stored" == status(server.fetch("/a"))


def test_what_a_trusted_proxy_tells(begin: Begin) -> None:
    """Each scheme that a trusted proxy names has its own answer; the client's address makes no difference."""
    server = begin("--trusted-proxies", "127.0.0.1")
    address = target("/a", see=["wsgi.url_scheme", "HTTP_HOST"])
    seen: dict[str, str] = {}
    for scheme in ("http", "https", "http", "https"):
        told = [("X-Forwarded-Proto", scheme), ("X-Forwarded-For", f"192.0.2.{len(seen) + 1}")]
        response = server.fetch(address, fields=told)
        seen[scheme] = response.body.split()[1].decode()

        assert scheme == seen[scheme]
    assert 2 == calls(server, "/a")


def test_a_group(serve: Servers, project: Path) -> None:
    """The processes of a group keep their answers."""
    shutil.copy(counted.__file__, project)
    server = serve(write(project, GROUP), cwd=project, env={"ADYTON_PROCESSES": ""})

    assert ["fwd=miss; stored", "hit; ttl"] == [status(server.fetch("/a")) for _ in range(2)]


def test_a_failure_is_hidden(server: Server) -> None:
    """An old answer is sent instead of a failure, if the old answer allows that."""
    control = "Cache-Control: max-age=1, stale-if-error=600"
    assert 1 == number(server.fetch(target("/a", f=[control], broken=2)))
    broken = target("/a", f=[control], broken=2)

    assert until(lambda: calls(server, "/a") >= 1 and "ttl=-" in server.fetch(broken)["Cache-Status"])
    response = server.fetch(broken)
    assert (200, 1) == (response.status, number(response))
    assert calls(server, "/a") >= 2


def test_request_ids(begin: Begin) -> None:
    """Each client gets the id of its own request, also with a kept answer."""
    server = begin("--request-id-header=X-Request-ID")
    answers = [server.fetch("/a") for _ in range(3)]

    assert 3 == len({answer["X-Request-ID"] for answer in answers})


def test_pipelined(server: Server) -> None:
    """Requests in one buffer are answered in order, whether their answers are kept or not."""
    with server.connect() as connection:
        connection.send(b"".join(request(path) for path in ("/a", "/a", "/b", "/a", "/b")))
        answers = [connection.receive() for _ in range(5)]

    assert ["fwd", "hit", "fwd", "hit", "hit"] == [status(answer)[:3] for answer in answers]


def admitted(begin: Begin) -> tuple[Server, tuple[str, int]]:
    """Return a server, and the address of its metrics."""
    server = begin("--processes", "1", "--admin", "127.0.0.1:0")
    return server, admin_of(server)
