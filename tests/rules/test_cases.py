"""Rules 1 to 28 of RULES.md as cases: bytes and the allowed outcomes, fed in every way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rules import fields, framing, start_line
from support.client import Feed, exchange, request

if TYPE_CHECKING:
    from support.cases import Case
    from support.http import Response
    from support.server import Server

TAIL = request("/tail")
CASES = start_line.CASES + fields.CASES + framing.CASES


@pytest.mark.parametrize("feed", Feed, ids=lambda feed: feed.value)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(server: Server, case: Case, feed: Feed) -> None:
    """The answer is an allowed one, and the bytes after the case are answered or cut off as the rule says."""
    server.fetch("/seen")
    tail = TAIL if feed is Feed.PIPELINED or not case.closes else b""

    answers = exchange(server.address, case.data, feed, tail=tail)
    first = check_first(case, answers.responses)
    seen = server.fetch("/seen").json()

    assert not any("smuggled" in entry for entry in seen)
    if case.closes or (case.closes is None and answers.closed):
        assert answers.closed
        assert [first.status] == answers.statuses
        assert first.closing
        assert "GET /tail" not in seen
    else:
        assert [first.status, 200] == answers.statuses
        assert "/tail" == answers.responses[1].json()["path"]
    if first.status >= 400:
        assert [] == [entry for entry in seen if entry != "GET /tail"]


def check_first(case: Case, responses: list[Response]) -> Response:
    """Check the answer to the case itself, and the application's description in it."""
    assert responses, "closed without an answer"
    first = responses[0]
    assert first.status in case.statuses, first
    assert first.complete
    if first.status == 200:
        told = first.json()
        assert case.told == {name: told[name] for name in case.told}
        assert case.fields == {name: told["fields"].get(name) for name in case.fields}
    return first


def test_rules_are_told() -> None:
    """RULES.md has each rule that a test cites exactly once."""
    folder = Path(__file__).parent
    told = re.findall(r"^(\d+)\. ", (folder / "RULES.md").read_text("utf-8"), re.MULTILINE)
    texts = [path.read_text("utf-8") for path in folder.glob("test_*.py")]
    cited = {case.rule for case in CASES} | {
        int(number) for text in texts for number in re.findall(r"\brule (\d+)", text)
    }

    assert len(set(told)) == len(told)
    assert {24, 39} <= cited
    assert [] == sorted(cited - set(map(int, told)))
