"""Keeps each round of a published comparison when it ends, so that an interrupted comparison can go on."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.compare.results.rows import Discarded, Shot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adyton.compare.results.rows import Row

FOLDER = ".adyton-compare"
"""A folder in the working directory, as is the folder in which ``adyton bench`` keeps reports."""
SCHEMA = "adyton-compare-kept/1"


class Kept:
    """The rounds of one comparison, in a file of its own."""

    def __init__(self, scenario: str, asked: object, folder: Path | None = None) -> None:
        """Expects in ``asked`` all that figures depend on: kept rounds count only if ``asked`` was equal."""
        said = json.dumps(asked, sort_keys=True, default=str)
        digest = hashlib.sha256(said.encode()).hexdigest()[:12]
        self.path = (folder or Path(FOLDER)) / f"{scenario}-{digest}.json"

    def load(self, rows: Sequence[Row]) -> tuple[int, float]:
        """Fills the rows; returns the number of kept rounds and the seconds that they took, or zeros."""
        try:
            data = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return 0, 0.0
        if data.get("schema") != SCHEMA or data["rows"].keys() != {row.name for row in rows}:
            return 0, 0.0
        for row in rows:
            fill(row, data["rows"][row.name])
        return int(data["rounds"]), float(data["seconds"])

    def save(self, rows: Sequence[Row], rounds: int, seconds: float) -> None:
        """Keeps all rounds until now; they replace the rounds that were kept before.

        A full disk must not end hours of measurements: if the rounds cannot be written, they are not kept.
        """
        data = {"schema": SCHEMA, "rounds": rounds, "seconds": seconds}
        data["rows"] = {row.name: told(row) for row in rows}
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(exist_ok=True)
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(data), "utf-8")
            new.replace(self.path)

    def drop(self) -> None:
        """Forgets the rounds: the comparison is over."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
            self.path.parent.rmdir()


def told(row: Row) -> dict[str, Any]:
    """Returns the rounds that a row has so far."""
    whole = asdict(row)
    return {name: whole[name] for name in ("shots", "problems", "spoilt", "discarded", "absent")}


def fill(row: Row, data: dict[str, Any]) -> None:
    """Gives a row its kept rounds. JSON has turned their numbers, which are keys, into strings."""
    row.shots = {load: numbered(shots, lambda shot: Shot(**shot)) for load, shots in data["shots"].items()}
    row.problems = data["problems"]
    row.absent |= data["absent"]
    row.spoilt = {load: numbered(why, list) for load, why in data["spoilt"].items()}
    row.discarded = {
        load: [Discarded(each["round"], each["why"], Shot(**each["shot"])) for each in all_of]
        for load, all_of in data["discarded"].items()
    }


def numbered(data: dict[str, Any], made: Any) -> dict[int, Any]:  # noqa: ANN401 - any constructor
    """Returns values by their rounds."""
    return {int(number): made(value) for number, value in data.items()}
