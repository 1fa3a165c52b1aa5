"""What is asked of the peers, and what each column of the classic table really is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    """One question."""

    name: str
    question: str
    load: tuple[str, ...]
    """Options of ``adyton bench``."""
    of: str
    """To which peer the rates are compared, by its key; it counts as 1000."""
    classic: str
    """What the column of the classic figure was, and is here."""


MECHANISMS = Scenario(
    name="mechanisms",
    question="What does each way of running Python cost over static files, one request at a time?",
    load=("-c", "1", "-k=off"),
    of="apache-static",
    classic=(
        "The classic table (CGI 10, mod_python 400, mod_wsgi daemon 700, .htaccess 850, embedded 900, "
        "static files 1000) is requests a second of one client that waits for each answer, with a new "
        "connection for each: the inverse of the time of one request, and no capacity."
    ),
)
CONCURRENCY = Scenario(
    name="concurrency",
    question="What do 120 connections get that are kept alive, after a warm-up?",
    load=("-c", "120"),
    of="apache-static",
    classic=(
        "Percentages of httpd's static files. A closed loop: a server that stalls is asked nothing "
        "meanwhile, so the times say little of users; those at half load are of an open loop."
    ),
)
SCENARIOS = {scenario.name: scenario for scenario in (MECHANISMS, CONCURRENCY)}
