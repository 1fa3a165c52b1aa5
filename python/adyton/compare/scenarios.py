"""What is asked of the peers, and what each column of the classic tables really was."""

from __future__ import annotations

from dataclasses import dataclass

DEADLINE_S = 1.0
"""An answer that comes later is none to a user who has gone away."""


@dataclass(frozen=True)
class Load:
    """One load of a peer, measured by ``adyton bench``."""

    options: tuple[str, ...]
    """Options of ``adyton bench``."""
    name: str = ""
    """What it is called where a scenario has several."""
    pages: tuple[str, ...] = ("hello",)
    """One is drawn for each request, all as often."""
    half: tuple[str, ...] = ()
    """Options with which half of its rate is offered, too, for the times; none: it is not."""
    times: float = 0.0
    """Offered at so many times the rate of the last load that had none; 0: as fast as it can."""
    beside: tuple[str, ...] = ()
    """A page that is loaded meanwhile: its name, then options of ``adyton bench``."""

    @property
    def asked(self) -> set[str]:
        """All pages that it needs."""
        return {*self.pages, *self.beside[:1]}

    @property
    def is_closed(self) -> bool:
        """Whether connections ask again as soon as they are answered, so that the rate is what it can."""
        return not self.times and "--rate" not in self.options


@dataclass(frozen=True)
class Scenario:
    """One question."""

    name: str
    question: str
    loads: tuple[Load, ...]
    figures: tuple[str, ...]
    """Columns of the page, by their titles in ``report.FIGURES``; with several loads each is a table."""
    classic: str
    """What the column of the classic figure was, and is here."""
    of: str = "apache-static"
    """To which peer the rates are compared, by its key; it counts as 1000."""
    allowed: frozenset[str] = frozenset()
    """Gates of ``adyton bench`` that make no figure invalid here, because they are what is asked about."""
    sizes: tuple[tuple[int, int], ...] = ()
    """Processes for each CPU, and threads in each: all are tried where a peer can be told."""
    seconds_min: float = 0.0
    """Shorter measurements say nothing here."""
    recovers: bool = False
    """Whether it is looked how soon a peer is itself again after each load."""

    @property
    def asked(self) -> set[str]:
        """All pages that some load needs."""
        return set().union(*(load.asked for load in self.loads))

    @property
    def closes(self) -> bool:
        """Whether each request comes over a connection of its own."""
        return all("-k=off" in load.options for load in self.loads)


ERRORS = frozenset({"answers", "listen-queue", "steady", "late", "little"})
"""What an overloaded server is expected to show; the table tells how many."""
PICTURES = tuple(f"picture-{number}.jpg" for number in range(1, 7))
FIGURES = (
    "requests/s",
    "between",
    "rounds",
    "of 1000",
    "CPU us",
    "x floor",
    "p50 ms",
    "p99 ms",
    "errors",
    "MiB",
    "beside ours",
)
"""The columns of a page with one load."""

MECHANISMS = Scenario(
    name="mechanisms",
    question="What does each way of running Python cost over static files, one request at a time?",
    loads=(Load(("-c", "1", "-k=off"), half=("-c", "64", "-k=off")),),
    figures=FIGURES,
    classic=(
        "The classic table (CGI 10, mod_python 400, mod_wsgi daemon 700, .htaccess 850, embedded 900, "
        "static files 1000) is requests a second of one client that waits for each answer, with a new "
        "connection for each: the inverse of the time of one request, and no capacity."
    ),
)
CONCURRENCY = Scenario(
    name="concurrency",
    question="What do 120 connections get that are kept alive, after a warm-up?",
    loads=(Load(("-c", "120"), half=("-c", "120")),),
    figures=FIGURES,
    classic=(
        "The classic column is a percentage of httpd's static files. Answers that were errors counted as "
        "requests in it, a third of one server's. Here only right answers count. It is a closed loop: a "
        "server that stalls is asked nothing meanwhile, so its times say little of users; those at half "
        "load are of an open loop."
    ),
)
SWEEP = Scenario(
    name="sweep",
    question="How many processes and threads are best, for how many connections?",
    loads=tuple(Load(("-c", str(number)), f"{number} conn.") for number in (10, 100, 200, 500, 1000)),
    figures=("requests/s", "errors", "p99 ms", "MiB"),
    classic=(
        "The classic plots show requests a second by concurrency, of one setting for each server and "
        "without errors: a server that refuses connections looked fast. Here each peer that can be told "
        "has several settings (processes x threads), and errors stand in a table of their own. Times are "
        "of a closed loop: with n connections they are n divided by the rate, whatever the server is "
        "like."
    ),
    allowed=ERRORS,
    sizes=((1, 1), (1, 4), (1, 16), (4, 1)),
)
PAGE = Scenario(
    name="page",
    question="How fast is a page of 7 KB from SQL rows, in Python and in PHP?",
    loads=tuple(Load(("-c", str(number)), f"{number} conn.", ("page",)) for number in (1, 5, 15, 50, 100)),
    figures=("requests/s", "p50 ms", "p99 ms", "CPU us", "errors", "beside ours"),
    classic=(
        "The classic column of milliseconds a request was one over the throughput of all connections, not "
        "the time that a request takes; its column of connect times was that of response times. Here p50 "
        "and p99 are times from sending a request to the last byte of its answer, in a closed loop. The "
        "42 rows come from SQLite at each request, from its cache of pages, over a connection that each "
        "thread (PHP: each process) keeps."
    ),
)
MEDIA = Scenario(
    name="media",
    question="What does it cost to send files through Python, and what past it?",
    loads=(
        Load(("-c", "16"), "file, through Python", ("file.jpg",)),
        Load(("-c", "16"), "file, past Python", ("static file.jpg",)),
        Load(("-c", "24"), "gallery, through Python", PICTURES),
        Load(("-c", "24"), "gallery, past Python", tuple(f"static {name}" for name in PICTURES)),
    ),
    figures=("requests/s", "MB/s", "CPU us", "errors", "beside ours"),
    classic=(
        'The classic test of a "350 KB media file" transferred 4,335 bytes an answer: an error page. Here '
        "each byte of every answer is compared. The gallery is six pictures of 10 to 60 KB, of which "
        "each of 24 connections asks for one after the other, drawn at random. Past Python means by the "
        "server itself from a folder, and by nginx where nginx is in front."
    ),
)
SLOW = Scenario(
    name="slow",
    question="What happens to quick pages while others wait or compute?",
    loads=(
        Load(("-c", "64", "--rate", "200"), "alone"),
        Load(("-c", "64", "--rate", "200"), "beside waiting", beside=("wait", "-c", "64")),
        Load(("-c", "64", "--rate", "200"), "beside computing", beside=("compute", "-c", "8")),
    ),
    figures=("p50 ms", "p99 ms", "answered %", "beside/s"),
    classic=(
        "Classic tables have one page, and it is quick. Here 200 requests a second are due for it, "
        "whatever the server does, and the times are from when each was due. Meanwhile 64 connections ask "
        "for a page that waits 100 ms, or 8 for one that computes some milliseconds; how many answers "
        "those get stands in the last table."
    ),
    allowed=ERRORS,
    seconds_min=2.0,
)
FAILURE = Scenario(
    name="failure",
    question="What is left of a server when more is asked than it can do?",
    loads=(
        Load(("-c", "64", "-k=off"), "as it can", ("compute",)),
        *(
            Load(
                ("-c", "1000", "-k=off", "--timeout", f"{DEADLINE_S:.0f}s"),
                f"{times:g} x",
                ("compute",),
                times=times,
            )
            for times in (0.5, 1.0, 2.0, 4.0)
        ),
    ),
    figures=("goodput/s", "errors", "p99 ms", "recovers s"),
    classic=(
        "Classic tables end where a server is full. Here requests are due at 0.5 to 4 times the rate that "
        "it has shown, each with a new connection, for a page that computes some milliseconds. Goodput is "
        "right answers within a second of when they were due; what comes later, or never, is an error. It "
        "recovers when five answers in a row take less than a tenth of a second each; the time is from "
        "the end of the load to the first of them."
    ),
    allowed=ERRORS,
    seconds_min=2.0,
    recovers=True,
)
SCENARIOS = {
    scenario.name: scenario for scenario in (MECHANISMS, CONCURRENCY, SWEEP, PAGE, MEDIA, SLOW, FAILURE)
}
