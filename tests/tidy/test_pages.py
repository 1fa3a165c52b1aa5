"""The pages agree with the program: reference, help, and an index that leads everywhere."""

from __future__ import annotations

import re
import subprocess
import sys

from tidy.sources import ROOT

# A reader takes in this much at one sitting; the reasons of the design stand in docs/design.
ARCHITECTURE_BYTES_MAX = 12 << 10

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def adyton(*words: str) -> str:
    """Run the command and return what it prints."""
    command = (sys.executable, "-m", "adyton", *words)
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout


def reference_rows(page: str) -> dict[str, str]:
    """Return the long flag of every row, with the row's text."""
    parts = re.split(r"^### (.*)$", page, flags=re.MULTILINE)
    return {FLAG.findall(head)[0]: text for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def help_rows(text: str) -> list[str]:
    """Return the long flag of every row of a help; other flags do not begin an entry."""
    return re.findall(r"^ +(?:-\w, )?(--[a-z][a-z0-9-]*)", text, re.MULTILINE)


def differences(one: set[str], other: set[str]) -> list[str]:
    """Return the names that only one of the two sets has."""
    return sorted(one ^ other)


def unlinked(index: str, pages: set[str]) -> list[str]:
    """Find pages that no link of the index leads to."""
    linked = {target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", index)}
    return sorted(pages - linked)


def folders_in_rows(page: str) -> set[str]:
    """Return the folders that first cells of tables name."""
    cells = re.findall(r"^\| ([^|]*) \|", page, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_rows_are_read() -> None:
    """A row is known by its heading, or by the line that begins its entry."""
    page = "# S\n\n### `-b`, `--bind ADDRESS`\n\nNot with `--host`.\n\n### `--a-b`\n\nText.\n"
    shown = "  -b, --bind ADDRESS\n      not --host\n      --a-b N\n      Text.\n"

    assert {"--bind", "--a-b"} == set(reference_rows(page))
    assert ["--bind", "--a-b"] == help_rows(shown)
    assert ["--c"] == differences({"--bind", "--c"}, {"--bind"})


def test_reference_is_the_program() -> None:
    """The page in the repository equals the page that the program prints."""
    page = (ROOT / "docs/reference/settings.md").read_text()

    assert page == adyton("reference")


def test_bench_reference_is_the_program() -> None:
    """The page of `adyton bench` is the one that the program prints, and both helps have its options."""
    page = (ROOT / "docs/reference/bench.md").read_text()
    rows = set(reference_rows(page))
    helps = [set(help_rows(adyton("bench", flag))) for flag in ("-h", "--help")]

    assert page == adyton("reference", "bench")
    assert len(rows) > 20
    assert [[], []] == [differences(rows, found - {"--help"}) for found in helps]


def test_sites_reference_is_the_program() -> None:
    """The page of the file of sites, and its schema, equal the texts that the program prints."""
    page = (ROOT / "docs/reference/sites.md").read_text()
    schema = (ROOT / "docs/reference/sites.schema.json").read_text()

    assert page == adyton("reference", "sites")
    assert schema == adyton("schema")
    assert "### `redirect" in page


def test_help_has_every_row() -> None:
    """Each setting of the reference is in both helps of `serve`, and each setting there in the reference."""
    rows = set(reference_rows(adyton("reference")))
    found = {
        flag: differences(rows, set(help_rows(adyton("serve", flag))) - {"--help"})
        for flag in ("-h", "--help")
    }

    assert len(rows) > 20
    assert {"-h": [], "--help": []} == found


def test_help_has_every_command() -> None:
    """Each command that `adyton help` names answers with its own help, or does its work."""
    text = adyton("help")
    commands = re.findall(r"^  adyton ([a-z-]+)", text, re.MULTILINE)
    own, orders = commands[:12], commands[12:]

    assert ["serve", "check", "route", "init", "import"] == own[:5]
    assert ["bench", "compare", "tune", "help", "reference", "schema", "--version"] == own[5:]
    assert ["status", "top", "reload", "stop", "workers", "log-level", "dump"] == orders
    for command in ("serve", "check", "bench", "import"):
        assert adyton("help", command) == adyton(command, "--help")
    for order in orders:
        assert adyton(order, "--help").startswith(f"Usage: adyton {order}")
        assert adyton("help", order).startswith(adyton(order, "--help"))


def test_rows_tell_every_spelling() -> None:
    """Each row of the reference names its variable and its keyword, both made from the flag."""
    wrong = []
    for flag, text in reference_rows(adyton("reference")).items():
        keyword = flag.removeprefix("--").replace("-", "_")
        if f"`ADYTON_{keyword.upper()}`" not in text or f"keyword: `{keyword}`" not in text:
            wrong.append(flag)

    assert [] == wrong


def test_limits_are_all_told() -> None:
    """The table of limits has each setting that bounds what clients can make large or slow."""
    parts = re.split(r"^## (.*)$", adyton("reference"), flags=re.MULTILINE)
    groups = dict(zip(parts[1::2], parts[2::2], strict=True))
    of_clients = ("Threads and overload", "Requests and answers", "Connections", "Timeouts")
    rows = [reference_rows(groups[group]) for group in of_clients]
    bounds = {flag for flag in set().union(*rows) if re.search(r"-(max|min|grace|limit|timeout)$", flag)}
    page = (ROOT / "docs/limits.md").read_text()
    table = "".join(line for line in page.splitlines() if line.startswith("|"))

    assert len(bounds) > 20
    assert [] == sorted(bounds - set(FLAG.findall(table)))


def test_missing_links_are_found() -> None:
    """A page counts as linked by its path, with or without a heading behind it."""
    assert ["c.md"] == unlinked("[A](a.md), [B](x/b.md#part), c.md", {"a.md", "x/b.md", "c.md"})


def test_index_links_every_page() -> None:
    """Each page of the documentation can be reached from the index."""
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"index.md"}
    found = unlinked((docs / "index.md").read_text(), pages)

    assert [] == found


def test_folders_are_found_in_rows() -> None:
    """A folder counts as described if a first cell names it, but not if another cell or the text does."""
    page = "`tests/a`\n\n| folder | promise |\n| --- | --- |\n| `tests/b`, `tests/c` | not `tests/d` |\n"

    assert {"tests/b", "tests/c"} == folders_in_rows(page)


def test_contributing_tells_every_folder() -> None:
    """Each folder of tests and benchmarks has a row that says what it is for, and each row its folder."""
    rows = folders_in_rows((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    folders = {
        f"{top}/{folder.name}"
        for top in ("tests", "benchmarks")
        for folder in (ROOT / top).iterdir()
        if folder.is_dir() and folder.name[0] not in "._"
    }

    assert [] == differences(rows, folders)


def test_architecture_is_short() -> None:
    """The page is a map, and names each page of docs/design, which says why things are as they are."""
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    reasons = {f"docs/design/{path.name}" for path in (ROOT / "docs/design").glob("*.md")}

    assert len(page.encode()) <= ARCHITECTURE_BYTES_MAX
    assert ["docs/design/x.md"] == unlinked(page, {"docs/design/x.md"})
    assert [] == unlinked(page, reasons)
