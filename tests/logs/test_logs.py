"""The error log: the content of its entries, and the places to which they are written."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.client import TIMEOUT_S
from support.server import open_files, run, until

if TYPE_CHECKING:
    from support.server import Server, Servers

APPLICATION = Path(__file__).with_name("application.py")
ALONE = ("serve", str(APPLICATION), "--bind", "127.0.0.1:0")
TIME = r"\[\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\]"
ID = "[0-9a-f]{16}"
TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = ("traceparent", f"00-{TRACE}-b7ad6b7169203331-01")

ENTRIES = [
    ("/print", rf"^{TIME} request {ID} stdout: one line$"),
    ("/print-pieces", rf"^{TIME} request {ID} stdout: a b$"),
    ("/print-unended", rf"^{TIME} request {ID} stdout: no end$"),
    ("/print-lines", rf"^{TIME} request {ID} stdout: first\nsecond$"),
    ("/print-bytes", rf"^{TIME} request {ID} stdout: caf\u00e9$"),
    ("/print-surrogate", rf"^{TIME} request {ID} stdout: \\udcff$"),
    ("/stderr", rf"^{TIME} request {ID} stderr: oops$"),
    ("/errors", rf"^{TIME} request {ID} stderr: said to wsgi\.errors$"),
    ("/warn", rf"^{TIME} request {ID} warning: py\.warnings: .*application\.py:\d+: UserWarning: old$"),
    ("/logging", rf"^{TIME} request {ID} warning: shop\.cart: empty 3$"),
    ("/logging", rf"^{TIME} request {ID} error: shop\.cart: failed\nTraceback \(most recent call last\):\n"),
    ("/handler", rf"^{TIME} request {ID} info: shop\.handled: taken$"),
    (
        "/thread",
        rf"^{TIME} error: threading: Exception in thread beside:\nTraceback \(most recent call last\):\n",
    ),
    ("/fail", rf"^{TIME} request {ID} ADY201 error: GET /fail failed:\nTraceback"),
]


@pytest.mark.parametrize(
    ("page", "pattern"), ENTRIES, ids=[f"{page}-{i}" for i, (page, _) in enumerate(ENTRIES)]
)
def test_text(serve: Servers, page: str, pattern: str) -> None:
    """Everything that an application prints or logs is an entry of its own, with the id of its request."""
    server = serve(APPLICATION)
    server.fetch(page)

    server.wait_for_log(pattern)


def test_the_request_is_the_right_one(serve: Servers) -> None:
    """The application, its threads and the access log use the same id for a request."""
    server = serve(APPLICATION, "--access-log", "-", "--access-log-format", "id=%L %U")
    told = server.fetch("/id").body.decode()

    assert re.fullmatch(ID, told)
    server.wait_for_log(rf"request {told} stdout: here$")
    server.wait_for_log(rf"^id={told} /id$")


@pytest.mark.parametrize("page", ["/id", "/generated", "/files/missing.txt", "/files/found.txt"])
def test_request_id_header(serve: Servers, tmp_path: Path, page: str) -> None:
    """A client's id is used, passed to the application and sent back; an invalid id is replaced."""
    flags = ["--request-id-header", "X-Request-ID", "--access-log", "-", "--access-log-format", "id=%L"]
    (tmp_path / "found.txt").write_text("found", encoding="ascii")
    server = serve(APPLICATION, *flags, f"--static=/files={tmp_path}")
    for given, taken in [
        ("given-1", True),
        ("given-2", True),
        ("a b", False),
        ("x" * 129, False),
        (None, False),
    ]:
        answer = server.fetch(page, fields=[("x-request-id", given)] if given else [])
        (found,) = answer.values("x-request-id")

        assert taken == (found == given)
        assert taken or re.fullmatch(ID, found)
        assert page != "/id" or found == answer.body.decode()
        server.wait_for_log(rf"^id={found}$")


@pytest.mark.parametrize("threads", ["1", "4"])
def test_time_is_over(serve: Servers, tmp_path: Path, threads: str) -> None:
    """An entry that another thread logs about a request that takes too long has the id of that request."""
    flags = ["--access-log", "-", "--access-log-format", "id=%L %s", "--request-timeout", "300ms"]
    server = serve(APPLICATION, "--threads", threads, "--request-id-header", "X-Request-ID", *flags)
    # The second request waits in the queue, because by then the page is known to be slow.
    for given in ("first", "second", None):
        answer = server.fetch("/hang", fields=[("x-request-id", given)] if given else [])
        (name,) = answer.values("x-request-id")

        assert 504 == answer.status
        assert given in (name, None)
        server.wait_for_log(rf"^{TIME} request {name} ADY202 error: GET /hang takes longer than")
    with server.connect() as connection:
        connection.get("/hang-midway", fields=[("x-request-id", "third")])
    # If the first piece was counted before the check, the entry says that nothing more has come since.
    late = "(?:takes|has given nothing more for) longer than"
    server.wait_for_log(rf"^{TIME} request third ADY202 error: GET /hang-midway {late}")

    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    answer = server.fetch(f"/stuck?{fifo}", fields=[("x-request-id", "fourth")])

    assert (504, ["fourth"]) == (answer.status, answer.values("x-request-id"))
    server.wait_for_log(rf"^{TIME} request fourth ADY202 error: GET /stuck\?\S+ takes longer than")
    server.wait_for_log(rf"^{TIME} request fourth ADY203 error: GET /stuck\?\S+ was interrupted and does not")
    server.wait_for_log("^id=fourth 504$")
    fifo.open("wb").close()


def test_refused(serve: Servers) -> None:
    """A refused request has an id, too; the client and both logs get the same id."""
    flags = ["--request-id-header", "X-Request-ID", "--access-log", "-", "--access-log-format", "id=%L"]
    server = serve(APPLICATION, "--log-level", "debug", *flags)
    with server.connect() as connection:
        (name,) = connection.ask(b"GET / HTTP/1.1\r\nBad Name: x\r\n\r\n").values("x-request-id")

    server.wait_for_log(rf"^{TIME} request {name} ADY108 debug: refused with 400: ")
    server.wait_for_log(f"^id={name}$")


def test_application_names_itself(serve: Servers) -> None:
    """If the application sends the id field itself, the server does not add its own."""
    server = serve(APPLICATION, "--request-id-header", "X-Request-ID")

    assert ["own"] == server.fetch("/own-id").values("x-request-id")


@pytest.mark.parametrize("name", ["Content-Length", "two words", "Host", "a:b"])
def test_wrong_header(name: str) -> None:
    """A field that has another meaning cannot be used for ids."""
    done = run(*ALONE, "--request-id-header", name)

    assert 2 == done.returncode
    assert "request-id-header" in done.stderr


def entries(server: Server) -> list[dict[str, Any]]:
    """Read the error log, in which each line must be a JSON object."""
    return [json.loads(line) for line in server.log().splitlines()]


def test_json(serve: Servers, tmp_path: Path) -> None:
    """The members of an entry are those that the documentation lists."""
    access = tmp_path / "access.log"
    flags = ["--log-format", "json", "--access-log", str(access), "--access-log-format", "json"]
    # The timeout is so long that even on a busy machine only `/hang` exceeds it.
    server = serve(APPLICATION, *flags, "--request-timeout", "3s")
    server.fetch("/print", fields=[TRACEPARENT])
    server.fetch("/logging")
    server.fetch("/fail")
    server.fetch("/hang", fields=[TRACEPARENT])
    server.stop()
    found = {entry["message"].partition("\n")[0]: entry for entry in entries(server)}
    # A server that runs as root first logs a warning about that.
    first = next(entry for entry in entries(server) if entry.get("code") != "ADY336")

    assert ("info", "ADY301") == (first["level"], first["code"])
    assert "adyton: listening on http://" in first["message"]

    printed, logged, failed = found["one line"], found["empty 3"], found["GET /fail failed:"]

    assert ("info", "stdout", TRACE) == (printed["level"], printed["stream"], printed["trace_id"])
    assert ("warning", "shop.cart") == (logged["level"], logged["logger"])
    assert ("error", "ADY201") == (failed["level"], failed["code"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", printed["time"])
    assert server.process.pid == printed["pid"]
    lines = {line["path"]: line for line in map(json.loads, access.read_text(encoding="utf-8").splitlines())}

    assert (printed["request_id"], TRACE) == (lines["/print"]["request_id"], lines["/print"]["trace_id"])
    assert lines["/logging"]["trace_id"] is None

    (late,) = [entry for entry in entries(server) if entry.get("code") == "ADY202"]

    assert (lines["/hang"]["request_id"], TRACE) == (late["request_id"], late["trace_id"])


def test_file(serve: Servers, tmp_path: Path) -> None:
    """A log file gets everything that would go to standard error, including output of the C library."""
    log = tmp_path / "error.log"
    server = serve(APPLICATION, "--error-log", str(log), log=log)
    server.fetch("/print")
    server.fetch("/raw")

    assert until(lambda: "stdout: one line\n" in log.read_text(encoding="utf-8"))
    assert until(lambda: "written to descriptor 2\n" in log.read_text(encoding="utf-8"))
    assert 0 == log.stat().st_mode & 0o137


@pytest.mark.parametrize("which", ["--error-log", "--access-log"])
@pytest.mark.parametrize("processes", ["0", "2"])
def test_cannot_be_opened(tmp_path: Path, which: str, processes: str) -> None:
    """If a log cannot be opened, a message says so, and the server does not start."""
    missing = tmp_path / "missing" / "log"
    done = run(*ALONE, "--processes", processes, which, str(missing))

    assert done.returncode in (1, 2)
    assert f"cannot open the {which[2:].replace('-', ' ')} {missing}: No such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_full_disk(serve: Servers, tmp_path: Path) -> None:
    """An error log that cannot be written stops no server, and later says how many entries were lost."""
    log = tmp_path / "error.log"
    server = serve(APPLICATION, "--error-log", str(log), log=log)
    size = log.stat().st_size
    limit_file_size(server, size)
    for _ in range(3):
        assert 200 == server.fetch("/print").status
    server.wait_for_log("ADY404 error: the error log cannot be written, and entries are lost: ")

    assert size == log.stat().st_size

    limit_file_size(server, 1 << 30)
    server.fetch("/print")
    lost = re.compile(r"ADY403 error: (\d+) entries of this log could not be written")

    def told() -> int:
        text = log.read_text("utf-8")
        return text.count("stdout: one line\n") + sum(int(found) for found in lost.findall(text))

    assert until(lambda: told() == 4), log.read_text("utf-8")
    told_elsewhere = server.wait_for_log(
        r"ADY404 error: the error log can be written again; \d entries were lost"
    )
    assert 2 == told_elsewhere.count("ADY404")
    assert "ADY404" not in log.read_text("utf-8")


def test_full_disk_of_the_access_log(serve: Servers, tmp_path: Path) -> None:
    """Lines that a full disk does not take are counted; the count is logged later; other lines are whole."""
    log = tmp_path / "access.log"
    server = serve(APPLICATION, "--access-log", str(log), "--access-log-format", "%q")
    server.fetch("/id?first")

    assert until(lambda: log.read_text("ascii") == "?first\n")

    # The limit leaves room for one more line and the beginning of another.
    limit_file_size(server, log.stat().st_size + 12)
    for number in range(5):
        server.fetch(f"/id?full-{number}")
    server.wait_for_log("ADY401 error: the access log cannot be written, and lines are lost: File too large")
    limit_file_size(server, 1 << 30)
    server.fetch("/id?last")
    text = server.wait_for_log(r"ADY405 error: \d lines of the access log were lost")
    (lost,) = re.findall(r"ADY405 error: (\d)", text)

    assert until(lambda: "?last\n" in log.read_text("ascii"))

    whole = set(log.read_text("ascii").splitlines()) & {f"?full-{number}" for number in range(5)}
    assert 5 == len(whole) + int(lost)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("processes", ["0", "1"])
def test_full_disk_from_the_start(processes: str, form: str) -> None:
    """A server that can neither start nor log the reason says on standard error what it knows."""
    flags = ["--processes", processes, "--error-log", "/dev/full", "--log-format", form, "--control", "off"]
    done = run("serve", "no_such_module", "--bind", "127.0.0.1:0", *flags)

    assert 3 == done.returncode
    assert 1 == done.stderr.count("ADY404")
    # The supervisor knows only that the failed worker has logged something.
    why = "No module named 'no_such_module'" if processes == "0" else "nothing is served; the error log"
    assert why in done.stderr
    assert "the error log cannot be written, and entries are lost: No space left" in done.stderr


def limit_file_size(server: Server, size: int) -> None:
    """Limit the size of the server's files, so that writes fail as on a full disk."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_syslog(serve: Servers, tmp_path: Path) -> None:
    """Entries and lines of the access log are sent to a syslog collector, each in one datagram."""
    path = tmp_path / "log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as collector:
        collector.bind(str(path))
        collector.settimeout(TIMEOUT_S)
        flags = ["--access-log", f"syslog:{path}", "--access-log-format", "%m %U"]
        server = serve(APPLICATION, "--error-log", f"syslog:{path}", *flags)
        pid = server.process.pid
        if os.geteuid() == 0:
            assert "ADY336 warning: this process serves as root" in collector.recv(65536).decode()
        banner = collector.recv(65536).decode()

        assert banner.startswith(f"<30>adyton[{pid}]: ADY301 info: adyton ")

        server.fetch("/fail")
        first, second = collector.recv(65536).decode(), collector.recv(65536).decode()

        assert re.match(rf"<27>adyton\[{pid}\]: request {ID} ADY201 error: GET /fail failed:\n", first)
        assert f"<30>adyton[{pid}]: GET /fail" == second


def test_no_collector(tmp_path: Path) -> None:
    """Without a syslog collector the server does not start."""
    done = run(*ALONE, "--error-log", f"syslog:{tmp_path}/none")

    assert 2 == done.returncode
    assert f"cannot open the error log syslog:{tmp_path}/none: No such file" in done.stderr


FAULTS = [
    ("port", 1, "adyton: cannot listen at 127.0.0.1:", "ADY330"),
    ("--access-log-format=%y", 2, "adyton: %y is not known", "ADY330"),
    ("--access-log=missing/log", 2, "adyton: cannot open the access log missing/log: No such file", "ADY330"),
    ("application", 3, "", "ADY217"),
]


@pytest.mark.parametrize("processes", ["0", "1"])
@pytest.mark.parametrize("where", ["text", "json", "syslog"])
@pytest.mark.parametrize(("fault", "status", "said", "code"), FAULTS, ids=[row[0] for row in FAULTS])
def test_cannot_start(
    tmp_path: Path, fault: str, status: int, said: str, code: str, where: str, processes: str
) -> None:
    """The terminal shows that the command has failed, and the log has an entry with the reason."""
    target = tmp_path / "shop.py"
    broken = fault == "application"
    target.write_text("raise RuntimeError('not today')\n" if broken else "app = print\n", encoding="utf-8")
    log, socket_path = tmp_path / "error.log", tmp_path / "socket"
    flags = ["--processes", processes, "--control", "off"]
    flags += ["--error-log", f"syslog:{socket_path}" if where == "syslog" else str(log)]
    flags += ["--log-format", "json" if where == "json" else "text"]
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as collector,
    ):
        collector.bind(str(socket_path))
        collector.settimeout(TIMEOUT_S)
        port = taken.getsockname()[1] if fault == "port" else 0
        flags += ["--bind", f"127.0.0.1:{port}", *([fault] if fault.startswith("--") else [])]
        done = run("serve", str(target), *flags, cwd=tmp_path)
        entry = collector.recv(65536).decode() if where == "syslog" else log.read_text("utf-8")

    assert status == done.returncode
    if broken:
        # A worker can report its failure only in the log.
        is_elsewhere = processes == "1" and where != "syslog"
        said = f"adyton: nothing is served; the error log {log} says why" if is_elsewhere else "not today"
    assert said in done.stderr
    assert 1 == entry.count(code)
    why = "RuntimeError: not today" if broken else said.removeprefix("adyton: ")
    if where == "json":
        first = json.loads(entry.splitlines()[0])

        assert ("error", code) == (first["level"], first["code"])
        assert why in first["message"]
    else:
        begin = r"<27>adyton\[\d+\]: " if where == "syslog" else rf"{TIME} "

        assert re.match(rf"{begin}(worker 1 )?{code} error: ", entry)
        assert why in entry


def test_without_set_up(serve: Servers) -> None:
    """Without handlers Python's own level applies; with the server's handler, the server's level applies."""
    server = serve(APPLICATION, "--log-level", "debug")
    server.fetch("/levels")
    text = server.wait_for_log(r"error: shop\.root: 40$")

    assert re.search(rf"^{TIME} request {ID} warning: shop\.root: 30$", text, re.MULTILINE)
    assert "shop.root: 20" not in text
    assert "shop.root: 10" not in text

    server.fetch("/handler-for-all")
    server.fetch("/levels")

    server.wait_for_log(rf"^{TIME} request {ID} debug: shop\.root: 10$")
    server.wait_for_log(rf"^{TIME} request {ID} info: shop\.root: 20$")


def test_own_set_up(serve: Servers) -> None:
    """An application that sets up `logging`, even late, gets the output that it has configured."""
    server = serve(APPLICATION, "--log-level", "debug")
    server.fetch("/basic-config")
    server.fetch("/levels")

    text = server.wait_for_log(rf"^{TIME} request {ID} stderr: ERROR:shop\.root:40$")

    assert "WARNING:shop.root:30" in text
    assert "INFO:shop.root" not in text


def test_levels_in_json(serve: Servers) -> None:
    """A failing thread is logged as an error, and a warning as a warning."""
    server = serve(APPLICATION, "--log-format", "json")
    server.fetch("/warn")
    server.fetch("/thread")
    server.stop()
    found = [(entry["level"], entry.get("logger")) for entry in entries(server)]

    assert ("warning", "py.warnings") in found
    assert ("error", "threading") in found


def test_left_alone(serve: Servers) -> None:
    """With --capture-output=off, the application's streams stay as they were."""
    server = serve(APPLICATION, "--capture-output", "off")
    server.fetch("/stderr")
    server.fetch("/errors")
    server.fetch("/print")

    server.wait_for_log("^oops$")
    server.wait_for_log(r"^said to wsgi\.errors$")
    assert b"_io.TextIOWrapper" in server.fetch("/streams").body


def test_level(serve: Servers) -> None:
    """The level applies to `logging`, and not to printed lines."""
    server = serve(APPLICATION, "--log-level", "error")
    server.fetch("/logging")
    server.fetch("/print")
    server.wait_for_log("stdout: one line")

    assert "error: shop.cart: failed" in server.log()
    assert "warning: shop.cart" not in server.log()


@pytest.mark.parametrize("processes", ["0", "1"])
def test_relative_to_chdir(serve: Servers, tmp_path: Path, processes: str) -> None:
    """The paths of both logs are relative to `--chdir`, for the supervisor and for its workers."""
    folder = tmp_path / "folder"
    folder.mkdir()
    flags = ["--chdir", str(folder), "--error-log", "error.log", "--access-log", "access.log"]
    server = serve(
        APPLICATION, "--processes", processes, "--control", "off", *flags, log=folder / "error.log"
    )
    server.fetch("/print")

    assert until(lambda: "stdout: one line" in (folder / "error.log").read_text("utf-8"))
    assert until(lambda: "GET /print" in (folder / "access.log").read_text("utf-8"))
    assert {folder} == {path for path in tmp_path.iterdir() if path.name != "control.sock"}


def test_no_forged_entries(serve: Servers) -> None:
    """Text from a client cannot forge an entry: it stays part of the entry in which it is logged."""
    server = serve(APPLICATION)
    server.fetch("/echo?%0A[Sun,%2022%20Nov%202026%2005:27:21%20GMT]%20ADY312%20error:%20worker%202")

    forged = r" \[Sun, 22 Nov 2026 05:27:21 GMT\] ADY312 error: worker 2$"
    server.wait_for_log(rf"warning: shop\.cart: said $\n{forged}")


def test_threads_that_print_to_the_end(serve: Servers) -> None:
    """A stop is clean even while threads of the application still print."""
    server = serve(APPLICATION, "--processes", "1", "--control", "off")
    server.fetch("/chatter")
    server.wait_for_log("stdout: chatter", count=100)
    server.stop()

    assert "crashed" not in server.log()


def test_opened_again(serve: Servers, tmp_path: Path) -> None:
    """After each SIGUSR1, a server without a supervisor goes on in new files, and loses no line."""
    error, access = tmp_path / "error.log", tmp_path / "access.log"
    flags = ["--processes", "0", "--error-log", str(error), "--access-log", str(access)]
    server = serve(APPLICATION, *flags, "--access-log-format", "%U", log=error)
    for turn in range(3):
        server.fetch("/print")
        # The line may be written after the answer was sent.
        assert until(lambda: "/print\n" == access.read_text("ascii"))
        error.rename(tmp_path / f"error.{turn}")
        access.rename(tmp_path / f"access.{turn}")
        server.signal(signal.SIGUSR1)
        old = {tmp_path / f"error.{turn}", tmp_path / f"access.{turn}"}
        assert until(partial(has_changed_to, server, {error, access}, old))
    server.fetch("/print")
    server.stop()

    for end in ("0", "1", "2", "log"):
        assert 1 == (tmp_path / f"error.{end}").read_text("utf-8").count("stdout: one line\n")
        assert "/print\n" == (tmp_path / f"access.{end}").read_text("ascii")


@pytest.mark.parametrize("processes", ["0", "2"])
def test_rotation_under_load(serve: Servers, tmp_path: Path, processes: str) -> None:
    """If logs are renamed and opened again under load, each request still has one line and one entry."""
    error, access = tmp_path / "error.log", tmp_path / "access.log"
    flags = ["--processes", processes, "--control", "off", "--error-log", str(error)]
    server = serve(APPLICATION, *flags, "--access-log", str(access), "--access-log-format", "%q", log=error)
    ends = threading.Event()

    def ask(client: int) -> list[str]:
        asked = []
        while not ends.is_set():
            with server.connect(lint_answers=False) as connection:
                for _ in range(50):
                    asked.append(f"?{client}-{len(asked)}")
                    assert 200 == connection.get(f"/echo{asked[-1]}").status
        return asked

    with ThreadPoolExecutor() as pool:
        clients = [pool.submit(ask, client) for client in range(3)]
        for turn in range(10):
            for path in (error, access):
                assert until(lambda path=path: path.exists() and path.stat().st_size > 0)  # type: ignore[misc]
                path.rename(path.with_suffix(f".{turn}"))
            server.signal(signal.SIGUSR1)
        ends.set()
        asked = sorted(query for client in clients for query in client.result())
    server.stop()

    def text(name: str) -> str:
        return "".join(path.read_text("utf-8") for path in tmp_path.glob(f"{name}.*"))

    assert asked == sorted(text("access").splitlines())
    assert asked == sorted(
        f"?{query}" for query in re.findall(r"warning: shop\.cart: said (.+)$", text("error"), re.MULTILINE)
    )


def has_changed_to(server: Server, new: set[Path], old: set[Path]) -> bool:
    """Tell whether the new files are open and the old ones closed; until then, lines go to the old files."""
    files = open_files(server.process.pid)
    return new <= files and not old & files


def test_cannot_be_opened_again(serve: Servers, tmp_path: Path) -> None:
    """If the folder of a log is gone, the old file gets an entry about it, and SIGUSR1 ends no server."""
    folder = tmp_path / "folder"
    folder.mkdir()
    server = serve(APPLICATION, "--processes", "0", "--access-log", str(folder / "access.log"))
    (folder / "access.log").unlink()
    folder.rmdir()
    server.signal(signal.SIGUSR1)

    server.wait_for_log("ADY402 error: the access log cannot be opened again: No such file")
    assert 200 == server.fetch("/print").status
