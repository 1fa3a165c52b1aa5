"""Settings: a wrong one gets one clear sentence; each can be a flag or a variable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from support.client import fetch
from support.server import run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

WRONG = [
    (["--keep-alive-tiemout", "5s"], "--keep-alive-timeout"),
    (["--bidn", ":0"], "--bind"),
    (["--acess-log=-"], "--access-log"),
    (["--backlog", "many"], "--backlog"),
    (["--backlog", "0"], "--backlog"),
    (["--backlog=-1"], "--backlog"),
    (["--bind", "nonsense"], "HOST:PORT"),
    (["--bind", "127.0.0.1:65536"], "65535"),
    (["--bind", "127.0.0.1:http"], "--bind"),
    (["--port", "x"], "--port"),
    (["--port", "80", "--bind", ":81"], "--port"),
    (["--threads", "0"], "--threads"),
    (["--interface", "asgi"], "wsgi"),
    (["--keep-alive-timeout", "5 fortnights"], "--keep-alive-timeout"),
    (["--keep-alive-timeout=-5s"], "--keep-alive-timeout"),
    (["--body-bytes-max", "5 apples"], "--body-bytes-max"),
    (["--static", "/static"], "PREFIX=DIR"),
    (["--static", "static=."], "--static"),
    (["--env", "NOVALUE"], "--env"),
    (["--env", "=x"], "--env"),
    (["--log-level", "loud"], "warning"),
    (["--access-log=-", "--access-log-format", "%y"], "%y"),
    (["--access-log-format", "%y"], "%y"),
    (["--access-log=-", "--access-log-format", "%{Cookie}i"], "Cookie"),
    (["--chdir", "no/such/folder"], "no/such/folder"),
    (["--factory=perhaps"], "--factory"),
    (["--server-header", "a\r\nX-Evil: b"], "--server-header"),
    (["--static-cache-control", "a\nb"], "--static-cache-control"),
    (["one too many"], "one too many"),
]


@pytest.mark.parametrize(("flags", "said"), WRONG, ids=repr)
def test_wrong_flag(application: Path, flags: list[str], said: str) -> None:
    """A wrong flag ends with exit status 2, and one sentence that says what is right."""
    done = run("serve", str(application), *flags)

    assert 2 == done.returncode, done.stderr
    assert said in done.stderr
    assert done.stderr.startswith("adyton: ")
    assert 1 == len(done.stderr.strip().splitlines())
    assert "" == done.stdout


UNUSABLE = [
    (["--python-path", "no/such/folder"], "python-path: no/such/folder is no folder to enter"),
    (["--temp-dir", "no/such/folder"], "(setting --temp-dir)"),
    (["--temp-dir", "/proc"], "large bodies cannot be stored in /proc: "),
    (["--static", "/static=/etc", "--static-404", "no-such.html"], "there is no no-such.html in a folder"),
]


@pytest.mark.parametrize("command", [["check"], ["serve", "--processes", "0"], ["serve", "--processes", "1"]])
@pytest.mark.parametrize(("flags", "said"), UNUSABLE, ids=repr)
def test_unusable(application: Path, command: list[str], flags: list[str], said: str) -> None:
    """A folder or file that cannot be used is reported by `check`, and by `serve` at the start."""
    done = run(*command, str(application), "--bind=127.0.0.1:0", *flags)

    assert 2 == done.returncode, done.stderr
    assert said in done.stderr
    assert 1 == len(done.stderr.strip().splitlines())


REFUSED = [
    (["--access-log-format", "%y"], "%y"),
    (["--access-log=-", "--access-log-format", "%{Cookie}i"], "Cookie"),
    (["--access-log", "/no/such/log"], "cannot open the access log /no/such/log"),
    (["--error-log", "syslog:/no/such/socket"], "cannot open the error log syslog:/no/such/socket"),
    (["--user", "nobody-at-all", "--processes", "1"], "there is no user nobody-at-all"),
    (["--group", "daemon", "--processes", "1"], "--group: it goes with --user"),
    (["--user", "nobody", "--processes", "0"], "--user: only workers become another user"),
    (["--processes", "1", "--min-processes", "2"], "min-processes"),
]


@pytest.mark.parametrize("command", ["serve", "check"])
@pytest.mark.parametrize(("flags", "said"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_refused_before_the_import(tmp_path: Path, command: str, flags: list[str], said: str) -> None:
    """Impossible settings are refused by both commands, and before the application is imported."""
    target = tmp_path / "app.py"
    target.write_text("import os\nos.write(1, b'imported')\napp = print\n", encoding="utf-8")
    done = run(command, str(target), "--bind", "127.0.0.1:0", "--control", "off", *flags)

    assert 2 == done.returncode, done.stderr
    assert said in done.stderr
    assert 1 == len(done.stderr.splitlines())
    assert "" == done.stdout


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ADYTON_BAKCLOG", "5", "ADYTON_BACKLOG"),
        ("ADYTON_BACKLOG", "many", "ADYTON_BACKLOG"),
        ("ADYTON_BIND", "nonsense", "ADYTON_BIND"),
        ("ADYTON_THREADS", "0", "ADYTON_THREADS"),
        ("PORT", "x", "PORT"),
    ],
)
def test_wrong_variable(application: Path, name: str, value: str, said: str) -> None:
    """A message about a variable names it as it was given."""
    done = run("serve", str(application), env={name: value})

    assert 2 == done.returncode, done.stderr
    assert said in done.stderr
    assert 1 == len(done.stderr.strip().splitlines())


@pytest.mark.parametrize("arguments", [["serv", "x"], ["seve"], ["--bind", ":0"]])
def test_wrong_command(arguments: list[str]) -> None:
    """A command that does not exist is refused like a wrong setting."""
    assert 2 == run(*arguments).returncode


def test_nothing_to_serve() -> None:
    """Without a target the command fails: there is nothing to serve."""
    done = run("serve")

    assert 2 == done.returncode
    assert "nothing to serve" in done.stderr


def test_help() -> None:
    """Help goes to standard output, names all settings, and is no error."""
    for arguments in (["serve", "--help"], ["help", "serve"]):
        done = run(*arguments)

        assert 0 == done.returncode
        assert "" == done.stderr
        for name in ("--bind", "--static", "--access-log-format", "--graceful-timeout"):
            assert name in done.stdout
        assert "\x1b" not in done.stdout
    assert 0 == run("-h").returncode
    assert "adyton serve" in run().stdout


def test_reference_names_each_variable() -> None:
    """The reference has every setting of the help, with its variable."""
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", run("serve", "--help").stdout))
    reference = run("reference").stdout

    for flag in flags - {"--help", "--version"}:
        assert flag in reference
        assert "ADYTON_" + flag[2:].replace("-", "_").upper() in reference


def test_variables(serve: Servers, application: Path, tmp_path: Path) -> None:
    """Variables set what flags set; a flag takes precedence."""
    server = serve(
        application,
        "--server-header",
        "by flag",
        bind=None,
        env={
            "ADYTON_BIND": "127.0.0.1:0",
            "ADYTON_SERVER_HEADER": "by variable",
            "ADYTON_BODY_BYTES_MAX": "10",
            "ADYTON_STATIC": f"/files={tmp_path}",
        },
    )
    (tmp_path / "file.txt").write_bytes(b"file")

    assert "by flag" == server.fetch()["Server"]
    assert b"file" == server.fetch("/files/file.txt").body
    assert 413 == server.fetch("/", method="POST", body=b"x" * 11).status


def test_port_variable(serve: Servers, application: Path, port: int) -> None:
    """`$PORT` is honoured, and then the port is open to other machines, as platforms expect."""
    server = serve(application, bind=None, env={"PORT": str(port)})

    assert [("0.0.0.0", port)] == server.addresses
    assert b"hello" == fetch(("127.0.0.1", port)).body


def test_host_and_port(serve: Servers, application: Path, port: int) -> None:
    """`--host` and `--port` take precedence over `$PORT`."""
    server = serve(application, "--host", "127.0.0.1", "--port", str(port), bind=None, env={"PORT": "1"})

    assert [("127.0.0.1", port)] == server.addresses
    assert b"hello" == server.fetch().body


def test_environment_of_the_application(serve: Servers, application: Path, tmp_path: Path) -> None:
    """The application sees the variables of `--env`, and runs in the folder of `--chdir`."""
    server = serve(application, "--env", "TOLD=a=b", "--chdir", str(tmp_path))
    told = server.fetch("/where").json()

    assert "a=b" == told["env"]
    assert str(tmp_path) == told["cwd"]


def test_banner(serve: Servers, application: Path) -> None:
    """The banner says what is served, where, by which Python, with which limits."""
    import platform  # noqa: PLC0415 (only here)

    log = serve(application, "--body-bytes-max", "7m").log()

    assert f"CPython {platform.python_version()}" in log
    assert "application.py:application" in log
    assert "WSGI" in log
    assert "7 MiB" in log
    assert "\x1b" not in log
