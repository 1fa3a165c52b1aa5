"""Scripts that are replaced between their check and their start: no file that would be refused runs."""

from __future__ import annotations

import os
import shutil
import threading
from itertools import count
from typing import TYPE_CHECKING

import pytest

from sites.scripts import HEAD, SHELL, WAITS, fifo, script, start, text
from support.client import request
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.server import Servers

OLD = SHELL.format(HEAD + "echo old")
NEW = SHELL.format(HEAD + "echo new")
OUTSIDE = SHELL.format(HEAD + "echo outside")


def link_file(folder: Path) -> None:
    """Put a link that leads out of the folder in the place of the script."""
    (folder / "new").symlink_to("../outside.sh")
    (folder / "new").rename(folder / "sub/a.sh")


def link_inside(folder: Path) -> None:
    """Put a link to a file in the same folder in the place of the script."""
    (folder / "sub/a.sh").unlink()
    (folder / "sub/a.sh").symlink_to("../b.sh")


def link_folder(folder: Path) -> None:
    """Put a link to another folder in the place of the script's own folder."""
    shutil.rmtree(folder / "sub")
    (folder / "sub").symlink_to("..")


def close(folder: Path) -> None:
    """Put a file that is not executable in the place of the script."""
    (folder / "new").write_text(OUTSIDE, encoding="utf-8")
    (folder / "new").rename(folder / "sub/a.sh")


def remove(folder: Path) -> None:
    """Remove the script."""
    (folder / "sub/a.sh").unlink()


def renew(folder: Path) -> None:
    """Replace the script by another script."""
    (folder / "new").write_text(NEW, encoding="utf-8")
    (folder / "new").chmod(0o755)
    (folder / "new").rename(folder / "sub/a.sh")


def cut(folder: Path) -> None:
    """Put a script in the place of the script's folder."""
    shutil.rmtree(folder / "sub")
    (folder / "sub").write_text(NEW, encoding="utf-8")
    (folder / "sub").chmod(0o755)


SWAPS = [
    (link_file, 404),
    (link_inside, 404),
    (link_folder, 404),
    (close, 403),
    (remove, 404),
    (renew, 200),
    (cut, 503),
]


@pytest.mark.parametrize(("swap", "status"), SWAPS)
def test_while_it_waits(serve: Servers, project: Path, swap: Callable[[Path], None], status: int) -> None:
    """A script that has waited for its turn is checked again before it is started."""
    script(project, "../outside.sh", OUTSIDE)
    script(project, "../a.sh", OUTSIDE)
    script(project, "sub/a.sh", OLD)
    script(project, "b.sh", OLD)
    script(project, "first.sh", SHELL.format(HEAD + "echo $$ >begun; " + WAITS))
    pipe = fifo(project)
    folder = project / "public/cgi-bin"
    server = start(serve, project, server="cgi-processes = 1")
    with server.connect() as first, server.connect() as second:
        first.send(request("/cgi-bin/first.sh"))
        assert until(lambda: text(folder / "begun").endswith("\n"))
        second.send(request("/cgi-bin/sub/a.sh"))
        # A later request is answered, so the script has been checked by now.
        assert b"shop 1" in server.fetch("/").body
        swap(folder)
        pipe.write_bytes(b"go on")
        assert first.receive().complete
        response = second.receive()

        assert status == response.status
        assert b"outside" not in response.body
        assert (b"new\n" == response.body) == (swap is renew)
        assert b"shop 1" in second.get("/").body


BODY = b"Content-Type: a/b\n\necho 'Content-Type: a/b'; echo; echo OUT''SIDE; exit\n"
"""A text that `cat` prints as an answer, and that a shell runs as a program."""

REQUESTS = 150


def test_a_link_in_a_loop(serve: Servers, project: Path) -> None:
    """A link to a shell replaces a program again and again, and the shell never runs."""
    folder = project / "public/cgi-bin"
    folder.mkdir(parents=True)
    cat, shell = shutil.which("cat"), shutil.which("sh")
    assert cat
    assert shell
    shutil.copy(os.path.realpath(cat), folder / ".program")
    shutil.copy(folder / ".program", folder / "a")
    server = start(serve, project)
    stop = threading.Event()

    def swap() -> None:
        for number in count():
            if stop.is_set():
                return
            if number % 2:
                os.link(folder / ".program", folder / ".new")
            else:
                (folder / ".new").symlink_to(shell)
            (folder / ".new").rename(folder / "a")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        with server.connect() as connection:
            answers = [connection.get("/cgi-bin/a", method="POST", body=BODY) for _ in range(REQUESTS)]
    finally:
        stop.set()
        swapping.join()
    shutil.copy(folder / ".program", folder / ".new")
    (folder / ".new").rename(folder / "a")
    assert BODY.partition(b"\n\n")[2] == server.fetch("/cgi-bin/a", method="POST", body=BODY).body

    assert not [answer for answer in answers if b"OUTSIDE" in answer.body]
    assert {200, 404, 500, 503} >= {answer.status for answer in answers}
