"""Logs under attack: each request is one line, whatever is in it; meddling with a log stops no request."""

from __future__ import annotations

import json
import re
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.client import request
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.server import Server, Servers

TARGET = Path(__file__).with_name("havoc.py")

HOSTILE = [
    "plain", '"', '""', '" 200 5 "', "\\", '\\"', "\\\\", "\\n", "\\x0a", "\\u001b[31m", "'", "`id`",
    "$(id)", "%s%n", "%%", "{}", '{"a":1}', '"}', '","status":200,"x":"', "[]", "]",
    "[25/Nov/2026:00:00:00 +0000]", "a\tb", "\t", "<script>", "</td>", "&amp;", "=cmd' /C calc'!A0", "+1",
    "-1", "@x", "${jndi:ldap://x}", "() { :; }; id", "\xff", "\xc3\xa9", "\xc2\x85", "\xc2\x9b31m",
    "\x9b31m", "\x85", "\xe2\x80\xa8", "\xe2\x80\xae", "\xed\xa0\x80", "\xf0\x9f\x98\x80", "\xc0\x80",
    "\xfe\xff", "\xef\xbb\xbf", "a" * 4000, "\xff" * 1000, '"' * 1000, "\\" * 1001, " - - ", "-", "a b",
    "::1", "GET / HTTP/1.1", "127.0.0.1", "ADY312 error: worker 2", "Traceback (most recent call last):",
    "\xa0", "\xad", "null",
]  # fmt: skip
"""Values of fields, as latin-1, of bytes that a request may have; without bars, which separate log fields."""

ESCAPED = [
    "%0a", "%0d%0a", "%0D%0A[Sun,%2022%20Nov%202026%2005:27:21%20GMT]", "%1b[31m", "%1b]0;title%07", "%00",
    "%7f", "%08" * 9, "%22", "%5c", "%5cn", "%5c%22", "%e2%80%a8", "%c2%9b", "%ff", "%ed%a0%80", "%25",
    "%", "%2", "%zz", "%09", "%20%20", "%e2%80%ae", "%1b%5b2J", "%0b%0c", "%85", "%3cscript%3e", "'", "`",
    "$(id)", "{}", "%7b%22a%22:1%7d", "x" * 3000, "%f0%9f%98%80", "|", "<>", "^", "[", "]", "?", "&", "=",
    "+", ";", "@", ":", "//", "..", "\\", '"',
]  # fmt: skip
"""Parts of paths."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]")
COMBINED = re.compile(
    r'127\.0\.0\.1 - \S+ \[[^\]]+\] "([^"\\]|\\.)*" \d{3} (\d+|-) "([^"\\]|\\.)*" "([^"\\]|\\.)*"'
)


def attack(server: Server) -> int:
    """Send every value in every place; return the number of requests."""
    count = 0
    for value in HOSTILE:
        fields = [
            (name, value)
            for name in ("User-Agent", "Referer", "X-Request-ID", "X-Forwarded-For", "traceparent")
        ]
        response = server.fetch("/fails", fields=fields, lint_answers=False)
        count += 1

        assert 500 == response.status
    for part in ESCAPED:
        for target in (f"/fails?{part}", f"/{part}"):
            assert server.fetch(target, lint_answers=False).status in {200, 500}
            count += 1
    return count


def lines_of(file: Path, count: int) -> list[str]:
    """Wait until a log has `count` lines; return them."""
    assert until(lambda: file.read_bytes().count(b"\n") >= count), file.read_bytes().count(b"\n")
    return file.read_bytes().decode().removesuffix("\n").split("\n")


@pytest.mark.parametrize(
    "form", ["common", "combined", "json", '%h|%m|%r|%U|%q|%{User-Agent}i|%{Referer}i|%s|"%u"']
)
def test_access_log(serve: Servers, tmp_path: Path, form: str) -> None:
    """Each request is one line of printable characters, which can be taken apart again."""
    log = tmp_path / "access.log"
    server = serve(
        TARGET, "--request-id-header=X-Request-ID", f"--access-log={log}", f"--access-log-format={form}"
    )
    count = attack(server)
    lines = lines_of(log, count)

    assert count == len(lines)
    assert [] == [line for line in lines if CONTROL.search(line) or "\t" in line]
    if form == "json":
        agents = [json.loads(line)["user_agent"] for line in lines[: len(HOSTILE)]]
        # The next request may be logged first: another thread may answer it as soon as the client sends it.
        assert set(HOSTILE[:9]) <= set(agents)
    elif form == "combined":
        assert [] == [line for line in lines if not COMBINED.fullmatch(line)]
    elif form != "common":
        assert [] == [line for line in lines[: len(HOSTILE)] if line.count("|") != 8]


@pytest.mark.parametrize("form", ["text", "json"])
def test_error_log(serve: Servers, tmp_path: Path, form: str) -> None:
    """Each failure is one entry; text of a client makes no other entry, and controls no terminal."""
    log = tmp_path / "error.log"
    server = serve(
        TARGET, "--request-id-header=X-Request-ID", f"--log-format={form}", f"--error-log={log}", log=log
    )
    attack(server)
    failures = len(HOSTILE) + len(ESCAPED)
    server.wait_for_log("ADY201", count=failures)
    text = log.read_bytes().decode()

    assert not CONTROL.search(text)
    if form == "json":
        entries: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        assert failures == sum(entry.get("code") == "ADY201" for entry in entries)
    else:
        begun = [line for line in text.split("\n") if re.match(r"\[\w{3}, \d\d \w{3} \d{4} ", line)]
        assert failures == sum(" ADY201 error: GET /fails" in line for line in begun)
        assert not [line for line in begun if "ADY312" in line]


def _truncate(file: Path) -> None:
    file.write_bytes(b"")


def _become_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _become_loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _become_full(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/full")


def _lose_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


MEDDLING: dict[str, Callable[[Path], object]] = {
    "removed": lambda file: file.unlink(),
    "renamed": lambda file: file.rename(file.with_name("old")),
    "truncated": _truncate,
    "without rights": lambda file: file.chmod(0),
    "a folder": _become_folder,
    "a loop": _become_loop,
    "a full disk": _become_full,
    "in a folder that is gone": _lose_folder,
}


@pytest.mark.parametrize("processes", ["0", "1"])
@pytest.mark.parametrize("reopens", [False, True])
@pytest.mark.parametrize("which", ["access", "error"])
@pytest.mark.parametrize("what", MEDDLING)
def test_meddling(
    serve: Servers, tmp_path: Path, what: str, which: str, processes: str, *, reopens: bool
) -> None:
    """Whatever becomes of a log, with or without a signal to open it again, requests are answered."""
    folder = tmp_path / "logs"
    folder.mkdir()
    file = folder / f"{which}.log"
    flags = [f"--{which}-log={file}", f"--processes={processes}", "--control=off"]
    server = serve(TARGET, *flags, log=file if which == "error" else None)
    pid = server.fetch("/").body
    MEDDLING[what](file)
    if reopens:
        server.signal(signal.SIGUSR1)
    for _ in range(3):
        assert 500 == server.fetch("/fails").status
        assert pid == server.fetch("/").body


def test_opened_again_and_again(serve: Servers, tmp_path: Path) -> None:
    """No line is lost when the log is renamed and opened again in the middle of many requests."""
    log = tmp_path / "access.log"
    server = serve(TARGET, f"--access-log={log}", "--access-log-format=%U %q")
    with server.connect() as connection:
        for number in range(50):
            connection.send(request(f"/?{number}") * 20)
            if log.exists():
                log.rename(tmp_path / f"old-{number}")
            server.signal(signal.SIGUSR1)
            for _ in range(20):
                assert 200 == connection.receive().status
    server.signal(signal.SIGTERM)
    assert 0 == server.wait()
    files = [log, *tmp_path.glob("old-*")]
    lines = [line for file in files if file.exists() for line in file.read_text("ascii").splitlines()]

    assert sorted(f"/ ?{number}" for number in range(50) for _ in range(20)) == sorted(lines)
