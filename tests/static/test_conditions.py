"""Rules 45 to 47: conditional requests, ranges and precompressed neighbours."""

from __future__ import annotations

import re
from email.utils import formatdate
from typing import TYPE_CHECKING

import pytest

from static.conftest import DIGITS, LONG_AGO, MEDIUM, TEXT

if TYPE_CHECKING:
    from pathlib import Path

    from support.http import Response
    from support.server import Server, Servers

CHANGED = formatdate(LONG_AGO, usegmt=True)
BEFORE = formatdate(LONG_AGO - 1, usegmt=True)
AFTER = formatdate(LONG_AGO + 1, usegmt=True)
FILES = ["/note.txt", "/medium.bin"]
"""Two files: the first is sent from the cache of contents, the second by the kernel."""

Row = tuple[list[tuple[str, str]], int]

CONDITIONS: list[Row] = [
    ([("If-None-Match", "TAG")], 304),
    ([("If-None-Match", "W/TAG")], 304),
    ([("If-None-Match", '"x", TAG, "y"')], 304),
    ([("If-None-Match", '"x"'), ("If-None-Match", "TAG")], 304),
    ([("If-None-Match", "*")], 304),
    ([("If-None-Match", '"x"')], 200),
    ([("If-None-Match", '"x"'), ("If-Modified-Since", CHANGED)], 200),
    ([("If-None-Match", "TAG"), ("If-Modified-Since", BEFORE)], 304),
    ([("If-Modified-Since", CHANGED)], 304),
    ([("If-Modified-Since", AFTER)], 304),
    ([("If-Modified-Since", BEFORE)], 200),
    ([("If-Modified-Since", "yesterday")], 200),
    ([("If-Modified-Since", "Sunday, 13-Sep-20 12:26:40 GMT")], 304),
    ([("If-Modified-Since", "Sun Sep 13 12:26:40 2020")], 304),
    ([("If-Match", "TAG")], 200),
    ([("If-Match", "*")], 200),
    ([("If-Match", '"x", TAG')], 200),
    ([("If-Match", '"x"')], 412),
    ([("If-Match", "W/TAG")], 412),
    ([("If-Unmodified-Since", CHANGED)], 200),
    ([("If-Unmodified-Since", AFTER)], 200),
    ([("If-Unmodified-Since", BEFORE)], 412),
    ([("If-Unmodified-Since", "yesterday")], 200),
    ([("If-Match", "TAG"), ("If-Unmodified-Since", BEFORE)], 200),
    ([("If-Match", '"x"'), ("If-None-Match", "TAG")], 412),
    ([("If-Match", "TAG"), ("If-None-Match", "TAG")], 304),
    ([("If-Unmodified-Since", BEFORE), ("If-None-Match", "TAG")], 412),
    ([("If-Unmodified-Since", AFTER), ("If-Modified-Since", AFTER)], 304),
    ([("If-Match", '"x"'), ("Range", "bytes=0-1")], 412),
    ([("If-None-Match", "TAG"), ("Range", "bytes=0-1")], 304),
    ([("If-None-Match", '"x"'), ("Range", "bytes=0-1")], 206),
]


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize(("fields", "status"), CONDITIONS, ids=str)
def test_condition(site: Server, target: str, fields: list[tuple[str, str]], status: int) -> None:
    """Conditions are evaluated in the order of RFC 9110 section 13.2.2."""
    with site.connect() as connection:
        tag = connection.get(target)["ETag"]
        asked = [(name, value.replace("TAG", tag)) for name, value in fields]
        response = connection.get(target, fields=asked)

        assert status == response.status
        if status == 304:
            assert tag == response["ETag"]
            assert b"" == response.body
        if status != 206:
            # A range applies to GET only; everything else also holds for HEAD.
            assert status == connection.get(target, method="HEAD", fields=asked).status
        assert DIGITS == connection.get("/note.txt").body


@pytest.mark.parametrize("target", ["/missing", "/.env"])
@pytest.mark.parametrize("name", ["If-None-Match", "If-Match"])
def test_condition_on_nothing(site: Server, target: str, name: str) -> None:
    """A missing file is answered 404 or 412, whatever the conditions are."""
    assert site.fetch(target, fields=[(name, "*")]).status in {404, 412}


RANGES = [
    ("bytes=0-0", 0, 0),
    ("bytes=0-4", 0, 4),
    ("bytes=5-", 5, -1),
    ("bytes=-1", -1, -1),
    ("bytes=-4", -4, -1),
    ("bytes=-1000000", 0, -1),
    ("bytes=3-1000000", 3, -1),
    ("bytes=0-99999999999999999999999999", 0, -1),
    ("bytes= 1-2", 1, 2),
    ("bytes=1-2,", 1, 2),
    ("bytes=1-2, 1000000-", 1, 2),
    ("BYTES=1-2", 1, 2),
]


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize(("field", "first", "last"), RANGES)
def test_range(site: Server, target: str, field: str, first: int, last: int) -> None:
    """One range is answered 206 with Content-Range and exactly these bytes."""
    whole = DIGITS if target == FILES[0] else MEDIUM
    first, last = first % len(whole), last % len(whole)
    with site.connect() as connection:
        response = connection.get(target, fields=[("Range", field)])

        # Doubtful spellings may be ignored, but must not be misread.
        if response.status == 200 and field in {"bytes= 1-2", "bytes=1-2,", "BYTES=1-2"}:
            assert whole == response.body
        else:
            assert 206 == response.status
            assert whole[first : last + 1] == response.body
            assert f"bytes {first}-{last}/{len(whole)}" == response["Content-Range"]
        assert DIGITS == connection.get("/note.txt").body


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize(
    "field",
    ["bytes=", "bytes", "bytes=-", "bytes=a-b", "bytes=1-a", "bytes=4-2", "bytes=1 -2", "bytes=--1",
     "bytes=+1-2", "lines=0-1", "bytes=1-2-3", "bytes 0-1", "0-1", "bytes=0x1-2", "bytes=1-2;3-4", "none"],
)  # fmt: skip
def test_invalid_range(site: Server, target: str, field: str) -> None:
    """A field that is not a range of bytes is ignored (rule 46)."""
    response = site.fetch(target, fields=[("Range", field)])

    assert 200 == response.status
    assert "Content-Range" not in response


@pytest.mark.parametrize("field", ["bytes=0-", "bytes=0-5", "bytes=-5", "bytes=5-"])
def test_range_of_nothing(site: Server, field: str) -> None:
    """An empty file has no ranges: Range is ignored, or answered 416."""
    response = site.fetch("/empty.txt", fields=[("Range", field)])

    assert response.status in {200, 416}
    if response.status == 416:
        assert "bytes */0" == response["Content-Range"]


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize("field", ["bytes=1000000-", "bytes=1000000-1000001", "bytes=-0"])
def test_unsatisfiable_range(site: Server, target: str, field: str) -> None:
    """A range without any byte of the file is answered 416 with the size of the file."""
    size = {"/note.txt": 10, "/medium.bin": len(MEDIUM)}[target]
    with site.connect() as connection:
        response = connection.get(target, fields=[("Range", field)])

        assert 416 == response.status
        assert f"bytes */{size}" == response["Content-Range"]
        assert DIGITS == connection.get("/note.txt").body


def test_range_is_for_get(site: Server) -> None:
    """HEAD ignores Range: its answer describes the whole file (RFC 9110 section 14.2)."""
    response = site.fetch("/note.txt", method="HEAD", fields=[("Range", "bytes=0-1")])

    assert 200 == response.status
    assert "10" == response["Content-Length"]


def parts(response: Response) -> list[tuple[str, bytes]]:
    """Split a multipart body strictly into its parts; return the ranges and their bytes."""
    match = re.fullmatch(r'multipart/byteranges; ?boundary="?([^"]+)"?', response["Content-Type"])
    assert match
    mark = b"--" + match[1].encode()
    first, *sections, last = response.body.split(mark)
    assert first in (b"", b"\r\n")
    assert last in (b"--", b"--\r\n")
    found = []
    for section in sections:
        assert section.startswith(b"\r\n")
        assert section.endswith(b"\r\n")
        head, _, content = section[2:-2].partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        found.append((fields["Content-Range"], content))
        assert "Content-Type" in fields
    return found


@pytest.mark.parametrize("target", FILES)
def test_two_ranges(site: Server, target: str) -> None:
    """Ranges that do not touch are sent as parts of one body, whose length is announced."""
    whole = DIGITS if target == FILES[0] else MEDIUM
    with site.connect() as connection:
        response = connection.get(target, fields=[("Range", "bytes=0-1, 5-6, -1")])

        assert 206 == response.status
        assert "Content-Range" not in response
        assert "length" == response.framing
        last = len(whole) - 1
        assert [
            (f"bytes 0-1/{len(whole)}", whole[:2]),
            (f"bytes 5-6/{len(whole)}", whole[5:7]),
            (f"bytes {last}-{last}/{len(whole)}", whole[-1:]),
        ] == parts(response)
        assert DIGITS == connection.get("/note.txt").body


@pytest.mark.parametrize(
    "field",
    [
        "bytes=0-4,2-6",
        "bytes=2-6,0-4",
        "bytes=0-2,3-6",
        "bytes=0-6,1-2,3-3",
        "bytes=0-6,0-6,0-6,0-6",
    ],
)
def test_overlapping_ranges(site: Server, field: str) -> None:
    """Overlapping and adjacent ranges are merged: no byte is sent twice (rule 46)."""
    response = site.fetch("/note.txt", fields=[("Range", field)])

    assert 206 == response.status
    assert "bytes 0-6/10" == response["Content-Range"]
    assert DIGITS[:7] == response.body


@pytest.mark.parametrize("count", [17, 500, 1500])
def test_many_ranges(site: Server, count: int) -> None:
    """Too many ranges are ignored or merged; the body is never longer than the file (rule 46)."""
    for step in (0, 1, 2):
        ranges = ",".join(f"{step * number}-{step * number}" for number in range(count))
        with site.connect() as connection:
            response = connection.get("/medium.bin", fields=[("Range", f"bytes={ranges}"[:8000])])

        assert response.status in {200, 206, 416}
        assert len(response.body) <= len(MEDIUM) + 200 * 17


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("TAG", 206),
        (CHANGED, 206),
        ('"x"', 200),
        ("W/TAG", 200),
        (BEFORE, 200),
        (AFTER, 200),
        ("nonsense", 200),
    ],
)
def test_if_range(site: Server, value: str, status: int) -> None:
    """If-Range compares strongly; if it does not hold, the whole file is sent."""
    with site.connect() as connection:
        tag = connection.get("/medium.bin")["ETag"]
        fields = [("Range", "bytes=0-1"), ("If-Range", value.replace("TAG", tag))]
        response = connection.get("/medium.bin", fields=fields)

    assert status == response.status
    assert (2 if status == 206 else len(MEDIUM)) == len(response.body)


CODINGS = [
    (None, None),
    ("", None),
    ("identity", None),
    ("deflate", None),
    ("gzip", "gzip"),
    ("GZIP", "gzip"),
    ("x-gzip", "gzip"),
    ("br", "br"),
    ("zstd", "zstd"),
    ("gzip;q=0", None),
    ("gzip;q=0.0, br;q=0", None),
    ("gzip;q=1, br;q=0", "gzip"),
    ("gzip;q=0.5, br;q=0.9", "br"),
    ("gzip;q=0.9, br;q=0.5", "gzip"),
    ("gzip;q=0.001", "gzip"),
    ("identity;q=1, gzip;q=0.5", None),
    ("identity;q=0, gzip", "gzip"),
    ("identity;q=0.5, gzip;q=1.0", "gzip"),
    ("*;q=0, gzip", "gzip"),
    ("deflate, gzip", "gzip"),
    ("gzip;q=nonsense", None),
]


@pytest.mark.parametrize(("accepted", "coding"), CODINGS, ids=str)
def test_coding(site: Server, accepted: str | None, coding: str | None) -> None:
    """The neighbour that the client prefers is sent, with its own tag and with Vary (rule 47)."""
    fields = [] if accepted is None else [("Accept-Encoding", accepted)]
    with site.connect(lint_answers=coding not in {"br", "zstd"}) as connection:
        plain = connection.get("/text.txt")
        for _ in range(2):
            response = connection.get("/text.txt", fields=fields)

            assert 200 == response.status
            assert "Accept-Encoding" == response["Vary"]
            assert plain["Content-Type"] == response["Content-Type"]
            if accepted == "gzip;q=nonsense" and "Content-Encoding" in response:
                continue
            if coding in {"x-gzip", "gzip"} and accepted == "x-gzip" and "Content-Encoding" not in response:
                continue
            assert ([coding] if coding else []) == response.values("Content-Encoding")
            assert (plain["ETag"] == response["ETag"]) == (coding is None)
            assert (TEXT == response.body) == (coding is None)


@pytest.mark.parametrize("accepted", ["br, gzip, zstd", "gzip, deflate, br, zstd", "*"])
def test_equal_preference(site: Server, accepted: str) -> None:
    """If the client has no preference, any neighbour may be sent."""
    with site.connect(lint_answers=False) as connection:
        response = connection.get("/text.txt", fields=[("Accept-Encoding", accepted)])

    assert response["Content-Encoding"] in {"br", "gzip", "zstd"}


@pytest.mark.parametrize("target", ["/note.txt", "/text.txt"])
@pytest.mark.parametrize("accepted", ["identity;q=0", "*;q=0", "identity;q=0, br;q=0"])
def test_nothing_acceptable(site: Server, target: str, accepted: str) -> None:
    """A client that refuses the plain file gets 406 (rule 47): codings that it does not list are not acceptable."""
    with site.connect() as connection:
        response = connection.get(target, fields=[("Accept-Encoding", accepted)])

        assert 406 == response.status
        assert DIGITS == connection.get("/note.txt").body


def test_only_the_plain_file_refused(site: Server) -> None:
    """A client that refuses only the plain file gets a neighbour."""
    fields = [("Accept-Encoding", "identity;q=0, *;q=0.5")]
    with site.connect(lint_answers=False) as connection:
        response = connection.get("/text.txt", fields=fields)

        assert 200 == response.status
        assert response["Content-Encoding"] in {"br", "gzip", "zstd"}


def test_neighbours_have_own_tags(site: Server) -> None:
    """Each coding can be revalidated by its own tag, and tags of other codings do not match."""
    with site.connect(lint_answers=False) as connection:
        tags = {
            coding: connection.get("/text.txt", fields=[("Accept-Encoding", coding)])["ETag"]
            for coding in ("identity", "gzip", "br", "zstd")
        }

        assert 4 == len(set(tags.values()))
        for coding, tag in tags.items():
            for other, other_tag in tags.items():
                fields = [("Accept-Encoding", other), ("If-None-Match", tag)]
                response = connection.get("/text.txt", fields=fields)

                assert (304 if coding == other else 200) == response.status
                assert "Accept-Encoding" == response["Vary"]
                assert other_tag == response["ETag"]


def test_range_of_a_neighbour(site: Server) -> None:
    """A range of a coded file is a range of the coded bytes, and the answer says so."""
    fields = [("Accept-Encoding", "br")]
    with site.connect(lint_answers=False) as connection:
        whole = connection.get("/text.txt", fields=fields)
        part = connection.get("/text.txt", fields=[*fields, ("Range", "bytes=0-5")])

        assert part.status in {200, 206}
        if part.status == 206:
            assert whole.body[:6] == part.body
            assert "br" == part["Content-Encoding"]
            assert whole["ETag"] == part["ETag"]


def test_older_neighbour(site: Server) -> None:
    """A neighbour older than its file is not used."""
    response = site.fetch("/old.txt", fields=[("Accept-Encoding", "gzip")])

    assert TEXT == response.body
    assert "Content-Encoding" not in response


def test_neighbour_by_its_own_name(site: Server) -> None:
    """A compressed file that is requested by its own name is sent like any other file."""
    response = site.fetch("/text.txt.gz")

    assert "Content-Encoding" not in response
    assert response["Content-Type"] in {"application/gzip", "application/x-gzip"}


def test_no_vary_without_neighbours(site: Server) -> None:
    """The answer for a file without neighbours has no Vary."""
    assert "Vary" not in site.fetch("/note.txt", fields=[("Accept-Encoding", "gzip")])


def test_precompressed_off(serve: Servers, root: Path) -> None:
    """With --static-precompressed=off, neighbours are not used."""
    server = serve(root, "--static-precompressed=off")
    response = server.fetch("/text.txt", fields=[("Accept-Encoding", "gzip")])

    assert TEXT == response.body
    assert "Vary" not in response
