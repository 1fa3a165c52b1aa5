"""Scenarios: the loads for the peers, and what each column of the classic tables really measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adyton.compare import own
from adyton.compare.events import KILL, RELOAD
from adyton.compare.pages import application_of

if TYPE_CHECKING:
    from collections.abc import Mapping

DEADLINE_S = 1.0
"""Time after which an answer does not count: by then the user has gone away."""


@dataclass(frozen=True)
class Load:
    """One load of a peer, measured by ``adyton bench``."""

    options: tuple[str, ...]
    """Options of ``adyton bench``."""
    name: str = ""
    """Name of the load, in scenarios that have several."""
    pages: tuple[str, ...] = ("hello",)
    """Pages, one of which is drawn for each request with equal probability."""
    half: tuple[str, ...] = ()
    """Options for a second load, at half of the rate, that measures times; empty: there is none."""
    times: float = 0.0
    """Rate to offer, as a multiple of the measuring load's rate; 0: the load is as fast as it can be."""
    is_measure: bool = False
    """Whether this is the measuring load."""
    beside: tuple[str, ...] = ()
    """A page that is loaded at the same time: its name, then options of ``adyton bench``."""
    recovers: bool = False
    """Whether the time until the peer has recovered from the load is measured."""
    lead_s: float = 0.0
    """Least time of load before the measurement: making all connections takes this long."""
    event: str = ""
    """Event that is repeated under the load: a name in ``events``; empty: none."""
    group: str = ""
    """Prefix of the load's name: the loads of a group have their own tables."""

    @property
    def asked(self) -> set[str]:
        """All pages that the load needs."""
        return {*self.pages, *self.beside[:1]}

    @property
    def application(self) -> str:
        """The module of the folder ``served`` that has these pages."""
        return application_of(self.pages[0])

    @property
    def needs_database(self) -> bool:
        """Whether these pages query a database."""
        return self.application in own.DRIVERS.values()

    @property
    def head(self) -> str:
        """Head of the load's column."""
        return self.name.removeprefix(self.group).lstrip(" ,")


@dataclass(frozen=True)
class Way:
    """A way to run Python, and the peers that use it; for each server, the first peer with figures counts."""

    name: str
    ours: tuple[str, ...]
    """Keys of Adyton's peers."""
    theirs: tuple[str, ...]
    """Keys of Apache's peers, which are the keys in the classic table."""


@dataclass(frozen=True)
class Scenario:
    """One question."""

    name: str
    question: str
    loads: tuple[Load, ...]
    figures: tuple[str, ...]
    """Columns of the page, by their titles in ``report.FIGURES``; with several loads each becomes a table."""
    classic: str
    """Description of the column of the classic figure: what it measured, and what is measured here."""
    of: str = "apache-static"
    """Key of the peer with whose rate other rates are compared; that rate counts as 1000."""
    allowed: frozenset[str] = frozenset()
    """Gates of ``adyton bench`` whose failure makes no figure invalid here: it is what the scenario shows."""
    sizes: tuple[tuple[int, int], ...] = ()
    """Processes for each CPU, and threads in each: all are tried on peers that can be told these numbers."""
    seconds_min: float = 0.0
    """Least seconds of a measurement in this scenario: a shorter one would say nothing."""
    judged: str = "requests/s"
    """The column by which each peer is compared with ours."""
    classics: Mapping[str, int] = field(default_factory=dict)
    """The figures of the classic table, by the keys of peers."""
    ways: tuple[Way, ...] = ()
    """Rows of the table in which each server's static files are 1000; the last row is static files."""

    @property
    def asked(self) -> set[str]:
        """All pages that some load needs."""
        return set().union(*(load.asked for load in self.loads))

    @property
    def closes(self) -> bool:
        """Whether each request comes over a connection of its own."""
        return all("-k=off" in load.options for load in self.loads)


ERRORS = frozenset({"answers", "listen-queue", "steady", "late", "little"})
"""Gates that an overloaded server is expected to fail; the table shows the number of errors."""
POISSON = ("--arrivals", "poisson")
"""Requests of an open loop arrive independently of one another, like requests of many users."""
HALF_CONNECTIONS = 16
"""With fewer connections, requests that are due at once by chance would wait for a connection."""
PICTURES = tuple(f"picture-{number}.jpg" for number in range(1, 7))
SPEED = ("requests/s", "between", "rounds", "of 1000")
COSTS = ("CPU us", "x floor")
TIMES = ("p50 ms", "p99 ms")
LAST = ("errors", "MiB", "beside ours")


def closed(connections: int, name: str = "", pages: tuple[str, ...] = ("hello",)) -> Load:
    """Returns a load that is as fast as it can be over these connections, and then at half of that rate."""
    half = ("-c", str(max(connections, HALF_CONNECTIONS)), *POISSON)
    return Load(("-c", str(connections)), name, pages, half)


MECHANISMS = Scenario(
    name="mechanisms",
    question="What does each way of running Python cost over static files, one request at a time?",
    loads=(Load(("-c", "1", "-k=off"), half=("-c", "64", "-k=off", *POISSON)),),
    figures=(*SPEED, "classic", *COSTS, *TIMES, *LAST),
    classic=(
        "The classic table (CGI 10, mod_python 400, mod_wsgi daemon 700, .htaccess 850, embedded 900, "
        "static files 1000) is requests a second of one client that waits for each answer, with a new "
        "connection for each: the inverse of the time of one request, and no capacity. `classic` has its "
        "figures, to be compared with `of 1000`. The table of ways has them beside the figures of Adyton and "
        "of Apache, both scaled so that the server's own static files have 1000: first by requests a second, "
        "then by requests for each second of CPU time of all processes, without waits for the network."
    ),
    classics={
        "apache-static": 1000,
        "apache-cgi": 10,
        "mod-python": 400,
        "mod-wsgi-daemon": 700,
        "mod-wsgi-6-daemon": 700,
        "mod-wsgi-htaccess": 850,
        "mod-wsgi-6-htaccess": 850,
        "mod-wsgi-embedded": 900,
        "mod-wsgi-6-embedded": 900,
    },
    ways=(
        Way("CGI", ("adyton-cgi",), ("apache-cgi",)),
        Way("handler", ("adyton-handler",), ("mod-python",)),
        Way("WSGI in processes of its own", ("adyton-group",), ("mod-wsgi-6-daemon", "mod-wsgi-daemon")),
        Way("script with .htaccess", ("adyton-script",), ("mod-wsgi-6-htaccess", "mod-wsgi-htaccess")),
        Way("WSGI embedded", ("adyton-wsgi",), ("mod-wsgi-6-embedded", "mod-wsgi-embedded")),
        Way("static files", ("adyton-static",), ("apache-static",)),
    ),
)
CONCURRENCY = Scenario(
    name="concurrency",
    question="What rates do 120 connections reach that are kept alive, after a warm-up?",
    loads=(closed(120),),
    figures=(*SPEED, *COSTS, *TIMES, *LAST),
    classic=(
        "The classic column is a percentage of the rate of httpd's static files. Error answers counted as "
        "requests in it, a third of the answers of one server. Here only right answers count. The load is a "
        "closed loop: a server that stalls gets no requests meanwhile, so the times say little of users; "
        "the times at half load are from an open loop."
    ),
)
SWEEP = Scenario(
    name="sweep",
    question="How many processes and threads are best, for how many connections?",
    loads=tuple(closed(number, f"{number} conn.") for number in (10, 100, 200, 500, 1000)),
    figures=("requests/s", "of 1000", "errors", *COSTS, *TIMES, "MiB", "beside ours"),
    classic=(
        "The classic plots show requests a second by concurrency, of one setting for each server and "
        "without errors: a server that refuses connections looked fast. Here each peer that can be told "
        "its size has several settings (processes x threads), and errors have a table of their own. Times in "
        "such plots are from a closed loop: with n connections they are n divided by the rate, whatever the "
        "server is like; here times are from an open loop at half of the rate."
    ),
    allowed=ERRORS,
    sizes=((1, 1), (1, 4), (1, 16), (4, 1)),
)
GROUPS = Scenario(
    name="groups",
    question="What does it cost to run an application in processes of its own?",
    loads=tuple(closed(number, f"{number} conn.") for number in (10, 100, 200, 500)),
    figures=("requests/s", "errors", *COSTS, *TIMES, "MiB", "beside ours"),
    classic=(
        "Classic tables of mod_wsgi's daemon mode have these numbers of processes and threads (2 x 10, "
        "2 x 100, 20 x 10) and of connections, as measured by `ab`. CPU time is that of all processes, "
        "including processes that accept connections, and a proxy in front."
    ),
    allowed=ERRORS,
    sizes=((2, 10), (2, 100), (20, 10)),
)
PAGE = Scenario(
    name="page",
    question="How fast is a page of 7 KB from SQL rows, in Python and in PHP?",
    loads=tuple(closed(number, f"{number} conn.", ("page",)) for number in (1, 5, 15, 50, 100)),
    figures=("requests/s", *TIMES, "CPU us", *LAST),
    classic=(
        "The classic column of milliseconds a request was the inverse of the throughput of all connections, "
        "not the time that a request takes; its column of connect times held response times. Here p50 and "
        "p99 are times from when a request was due to the last byte of its answer, at half of the rate. For "
        "each request SQLite reads the 42 rows from its page cache, over a connection that each thread (in "
        "PHP each process) keeps open."
    ),
)
MEDIA = Scenario(
    name="media",
    question="What does it cost to send files through Python, and what without Python?",
    loads=(
        closed(16, "file, through Python", ("file.jpg",)),
        closed(16, "file, past Python", ("static file.jpg",)),
        closed(24, "gallery, through Python", PICTURES),
        closed(24, "gallery, past Python", tuple(f"static {name}" for name in PICTURES)),
    ),
    figures=("requests/s", "MB/s", *TIMES, "CPU us", *LAST),
    classic=(
        'The classic test of a "350 KB media file" transferred 4,335 bytes an answer: an error page. Here '
        "each byte of every answer is compared. The gallery is six pictures of 10 to 60 KB; each of 24 "
        "connections requests one after the other, drawn at random. Past Python means that the server itself "
        "sends them from a folder, or nginx if nginx is in front."
    ),
)
QUICK = ("-c", "64", "--rate", "200", *POISSON)
SLOW = Scenario(
    name="slow",
    question="What happens to quick pages while other pages wait or compute?",
    loads=(
        Load(QUICK, "alone"),
        Load(QUICK, "beside waiting", beside=("wait", "-c", "64")),
        Load(QUICK, "beside computing", beside=("compute", "-c", "8")),
    ),
    figures=(*TIMES, "requests/s", "answered %", "errors", "beside/s", "CPU us", "MiB", "beside ours"),
    classic=(
        "Classic tables have one page, and it is quick. Here 200 requests a second are due for a quick "
        "page, whatever the server does, and the times are from when each was due. Meanwhile 64 connections "
        "request a page that waits 100 ms, or 8 a page that computes some milliseconds; `beside/s` is the "
        "rate of their answers, which are counted in `CPU us`, too."
    ),
    allowed=ERRORS,
    seconds_min=2.0,
    judged="p99 ms",
)
FAILURE = Scenario(
    name="failure",
    question="What is left of a server's rate when more requests are due than it can answer?",
    loads=(
        Load(("-c", "64", "-k=off"), "as it can", ("compute",), is_measure=True, recovers=True),
        *(
            Load(
                ("-c", "1000", "-k=off", "--timeout", f"{DEADLINE_S:.0f}s", *POISSON),
                f"{times:g} x",
                ("compute",),
                times=times,
                recovers=True,
            )
            for times in (0.5, 1.0, 2.0, 4.0)
        ),
    ),
    figures=("offered/s", "goodput/s", "errors", *TIMES, "recovers s", "CPU us", "MiB", "beside ours"),
    classic=(
        "Classic tables end at a server's full load. Here requests are due at 0.5 to 4 times the rate that "
        "the server has shown, each with a new connection, for a page that computes some milliseconds. "
        "Goodput is right answers within a second of when the request was due; a later answer, or none, is "
        "an error. A server has recovered when five answers in a row take less than a tenth of a second "
        "each; the time is from the end of the load to the first of these answers."
    ),
    allowed=ERRORS,
    seconds_min=2.0,
    judged="goodput/s",
)
SMALL_FILE = ("static picture-1.jpg",)
FEW = ("-c", "16")
THREADS = Scenario(
    name="threads",
    question="What do pages that wait or compute leave of the rate of other pages, with 64 threads?",
    loads=(
        Load(FEW, "quick"),
        Load(FEW, "quick beside waiting", beside=("pause", "-c", "64")),
        Load(("-c", "64"), "64 wait", ("pause",)),
        Load(("-c", "512"), "512 wait", ("pause",)),
        Load(FEW, "files", SMALL_FILE),
        Load(FEW, "files beside computing", SMALL_FILE, beside=("compute", "-c", "4")),
        Load(("-c", "4"), "computing", ("compute",)),
    ),
    figures=("requests/s", "beside/s", *TIMES, "CPU us", *LAST),
    classic=(
        "Classic tables have one page. Here quick pages and files are requested as fast as they are "
        "answered, alone and beside pages that wait 10 ms or compute some milliseconds; compare the columns "
        "to see what each keeps of its rate. 64 threads that wait 10 ms each can give 6,400 answers a "
        "second in each process; each of 512 connections then waits 80 ms, if all wait equally long. Times "
        "are from a closed loop."
    ),
    allowed=ERRORS,
    sizes=((1, 64),),
    seconds_min=1.0,
)
SLOW_CLIENTS = ("-c", "1", "--rate", "1")
"""Options of the fast load beside slow clients: the load sends one request a second."""
READERS = ("--slow-readers", "1000", "--slow-rate", "10k")
SENDERS = ("--slow-uploads", "1000", "--slow-rate", "1", "--data", "x" * 600)
CONNECTIONS = Scenario(
    name="connections",
    question="What do many connections, and slow clients, cost other clients?",
    loads=(
        Load(("-c", "64"), "64", is_measure=True),
        Load(("-c", "64", *POISSON), "64, half", times=0.5),
        Load(("-c", "10000", *POISSON), "10,000, half", times=0.5, lead_s=2.0),
        Load(("-c", "64", "--pipeline", "16"), "64, pipelined"),
        Load(
            ("-c", "64"),
            "beside readers",
            lead_s=1.0,
            beside=("file.jpg", *SLOW_CLIENTS, *READERS),
        ),
        Load(
            ("-c", "64"),
            "beside uploads",
            lead_s=1.0,
            beside=("upload", *SLOW_CLIENTS, *SENDERS),
        ),
    ),
    figures=("requests/s", *COSTS, *TIMES, "errors", "cut off", "MiB held", "beside ours"),
    classic=(
        "Classic tables have as many connections as requests at once. Here half of the rate that 64 "
        "connections get is offered over 64 and over 10,000, which take turns: the difference of `MiB "
        "held`, divided by 9,936, is the memory that an idle connection needs. Pipelined means that 16 "
        "requests are sent in one piece. Beside 64 connections a thousand slow clients read a file of 350 "
        "KB at 10 KB a second, or send a body of 600 bytes at one byte a second; a server that gives up "
        "slow clients protects the others, and `cut off` is the number of requests that it gave up."
    ),
    allowed=ERRORS,
    seconds_min=1.0,
)
PROCESSES = Scenario(
    name="processes",
    question="What is lost when workers are replaced or killed, and how long does it take?",
    loads=(
        Load(("-c", "64"), "as ever"),
        Load(("-c", "64"), "reloaded", event=RELOAD),
        Load(("-c", "16", "-k=off"), "reloaded, new connections", event=RELOAD),
        Load(("-c", "64"), "worker killed", event=KILL),
    ),
    figures=("requests/s", "errors", "events", "turn s", "p99 ms", "start ms", "CPU us", "MiB", LAST[-1]),
    classic=(
        "Classic tables have no such test. Here all workers are replaced under full load by the signal that "
        "the server has for that, or the busiest worker is killed (SIGKILL), again and again: `events` says "
        "how often, `turn s` how long it took until no old process was left and as many processes ran as "
        "before. `start ms` is the time from a server's start to its first right answer. The application is "
        "small: a large application takes longer to import."
    ),
    allowed=ERRORS,
    sizes=((4, 16),),
    seconds_min=2.0,
)
COSTS_OF_PAGES = ("requests/s", "CPU us", "errors", "MiB", "beside ours")


def upload(size: str, way: str) -> Load:
    """Returns the load that sends bodies of a size to an application that reads them in a way."""
    few = ("-c", "4", "--timeout", "20s") if size == "20 MB" else FEW
    return Load(few, f"{size}, {way}", (f"{size} {way}",), group=size)


UPLOADS = Scenario(
    name="uploads",
    question="What does it cost to take a body, and to give it to an application?",
    loads=tuple(upload(size, way) for size in own.SIZES for way in own.WAYS),
    figures=COSTS_OF_PAGES,
    classic=(
        "Classic tables have no such test. Here bodies of 64 KiB and 1 MB come over 16 connections, and "
        "bodies of 20 MB over 4, each with its length in the head, or in chunks of 16 KiB (chunked). The "
        "application reads a body at once (whole), in pieces of 64 KiB, by lines of 250 bytes, or not at "
        "all (unread), and a chunked body in pieces; it keeps no data, and answers with the number of "
        "bytes. Some servers read a body before they call the application, others when the application "
        "reads it. If a server closes the connection instead of reading the rest of a body, its answer may "
        "be lost: such requests are errors."
    ),
    allowed=ERRORS,
    seconds_min=0.5,
)
FRAMEWORKS = Scenario(
    name="frameworks",
    question="What do pages of five frameworks cost on each server?",
    loads=tuple(
        Load(FEW, f"{name}, {page}", (f"{name} {page}",), group=name)
        for name in own.FRAMEWORKS
        for page in ("hello", "page", "JSON", "form")
    ),
    figures=COSTS_OF_PAGES,
    classic=(
        "Classic tables have an application without a framework. Here each framework has four pages: twelve "
        "bytes; 7 KB from a template with 42 rows, which is its own (Django, Bottle) or Jinja2's (Flask, "
        "Falcon, Pyramid); JSON; and the answer to a form of two fields. Django has the middleware of a new "
        "project, except sessions, users and messages, which need a database. Each server is started anew "
        "for each framework. The difference between two servers is the servers' cost; the rest is the "
        "framework's."
    ),
)
STREAMS = Scenario(
    name="streams",
    question="What does it cost to send bodies piece by piece?",
    loads=tuple(Load(FEW, name, (name,)) for name in own.STREAMS),
    figures=("requests/s", "MB/s", "CPU us", "errors", "MiB", "beside ours"),
    classic=(
        "Classic tables have no such test. Here a generator yields 1 MB (1 MiB) in pieces of 16 KiB, with "
        "its length in the head or without it; or a thousand pieces of 100 bytes; or ten server-sent "
        "events, waiting 5 ms before each, so that a thread can give 20 such answers a second. The file of "
        "1 MB is sent by `wsgi.file_wrapper` if the server has one. It is only checked that all pieces "
        "come, not when."
    ),
    seconds_min=0.5,
)
DATABASE = Scenario(
    name="database",
    question="What do pages cost that query a database once, or five times?",
    loads=tuple(
        Load(FEW, f"{driver}, {name}", (f"{driver} {name}",), group=driver)
        for driver in own.DRIVERS
        for name in own.QUERIES
    ),
    figures=COSTS_OF_PAGES,
    classic=(
        "Classic tables have no database. Here PostgreSQL is started for the scenario, on the CPUs of the "
        "load. Each page queries it over a unix socket for a row by its key, once, or five times in turn; "
        "each query is answered at once, or after 1 ms (pg_sleep). psycopg is version 3, with its pool of "
        "up to 16 connections in each process; with psycopg2 each thread keeps a connection. CPU time and "
        "memory are those of the server, without the database."
    ),
    seconds_min=0.5,
)
SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        *(MECHANISMS, CONCURRENCY, SWEEP, GROUPS, PAGE, MEDIA, SLOW, FAILURE),
        *(THREADS, CONNECTIONS, PROCESSES, UPLOADS, FRAMEWORKS, STREAMS, DATABASE),
    )
}
