"""Finds the application that the settings name, and says what it is.

Imports as little as possible: this runs before the first answer.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from adyton._kinds import NoApplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType, TracebackType

#: Looked for in a module that was named without an attribute, in this order.
NAMES = ("application", "app", "handler")

_HERE = os.path.dirname(os.path.abspath(__file__))


#: Files in which the application has failed, for ``--reload``.
_failed: list[str] = []

#: Where the folder of a file that is run goes in ``sys.path``: behind the folder of a group, if that leads.
_behind = 0

#: In development: of each imported source file when it had been changed last, in nanoseconds since 1970.
_imported: dict[str, int] = {}


class NotFoundError(Exception):
    """The module was imported, and what was asked for is not in it."""


def prepare(
    chdir: str | None,
    python_path: Sequence[str],
    env: Sequence[tuple[str, str]],
    leads: bool,  # noqa: FBT001
) -> None:
    """Goes to the working directory, and sets up ``sys.path`` and the environment.

    ``leads``: modules are looked for there before all else, wherever ``sys.path`` has had it. Raises
    ``OSError``, with a sentence, when a folder is not there or may not be entered.
    """
    global _behind  # noqa: PLW0603
    if chdir is not None:
        _try("chdir", chdir, os.chdir)
    for entry in python_path:
        # A zip archive will do, and so will what this user may enter and not list.
        _try("python-path", entry, os.stat if os.path.isfile(entry) else _look_into)
    for entry in reversed([os.getcwd(), *map(os.fspath, python_path)]):
        path = os.path.abspath(entry)
        if path not in sys.path:
            sys.path.insert(0, path)
    if leads:
        here = os.getcwd()
        sys.path.remove(here)
        sys.path.insert(0, here)
        _behind = 1
    os.environ.update(env)


def _try(setting: str, path: str, use: Callable[[str], object]) -> None:
    """Uses a path that a setting names; an error says which it is, and to which user it is refused."""
    try:
        use(path)
    except PermissionError as error:
        message = f"{setting}: {_user()} may not enter {path}"
        raise OSError(message) from error
    except OSError as error:
        message = f"{setting}: {path} is no folder to enter: {error.strerror}"
        raise OSError(message) from error


def _look_into(folder: str) -> None:
    os.stat(os.path.join(folder, "."))


def _user() -> str:
    """The user of this process, by name if there is one."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"the user {os.geteuid()}"


def load(place: str, attribute: str | None, is_file: bool, factory: bool) -> tuple[Any, str]:  # noqa: FBT001
    """Imports a module or runs a file, and returns the application and its name.

    Raises whatever the application's code raises, and ``NotFoundError``.
    """
    module = _run_file(place) if is_file else _import(place)
    name, found = _find(module, place, attribute)
    if factory:
        if not callable(found):
            raise NoApplicationError(
                f"{name} makes no application: --factory calls it, and it is no function"
            )
        found = found()
    return found, name


def load_function(place: str, name: str, is_file: bool) -> tuple[Any, str]:  # noqa: FBT001
    """Imports a module or runs a file, and returns a function of it and what to call that.

    A file that is a module already is not run again. Raises whatever its code raises, and ``NotFoundError``.
    """
    module = (_already_run(place) or _run_file(place)) if is_file else _import(place)
    shown, found = _find(module, place, name)
    if not callable(found):
        message = f"{shown} is no function"
        raise NotFoundError(message)
    return found, shown


def _already_run(path: str) -> ModuleType | None:
    """Return the module that was made of a file, if there is one."""
    wanted = os.path.abspath(path)
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == wanted:
            return module
    return None


def _import(name: str) -> ModuleType:
    from importlib import import_module

    return import_module(name)


def _run_file(path: str) -> ModuleType:
    """Runs a file as a module that other modules can import by the file's name."""
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    path = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0].replace("-", "_").replace(".", "_")
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(_behind, folder)
    if name in sys.modules or name in sys.builtin_module_names:
        name = f"_adyton_{name}"
    spec = spec_from_file_location(name, path, loader=SourceFileLoader(name, path))
    if spec is None or spec.loader is None:
        message = f"{path} is no Python file"
        raise NotFoundError(message)
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _find(module: ModuleType, place: str, attribute: str | None) -> tuple[str, Any]:
    if attribute is None:
        for name in NAMES:
            if hasattr(module, name):
                return f"{place}:{name}", getattr(module, name)
        names = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
        message = f"{place} has no {names}: name the application as {place}:NAME"
        raise NotFoundError(message)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            message = f"{place} has no {attribute}{_hint(found, part)}"
            raise NotFoundError(message)
        found = getattr(found, part)
    return f"{place}:{attribute}", found


def _hint(owner: object, name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [other for other in dir(owner) if not other.startswith("_")], 1)
    return f"; did you mean {close[0]}?" if close else ""


def report(error: BaseException, place: str = "") -> str:
    """Why the application could not be loaded: its own traceback, without our frames.

    ``place`` is where a file of sites names it, as ``site.toml:3:7: ``, or empty.
    """
    if isinstance(error, NotFoundError | NoApplicationError):
        return f"adyton: {place}{error}\n"
    from traceback import format_exception, walk_tb

    from adyton import _single

    _failed.extend(frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename:
        _failed.append(error.filename)
    frames = without_ours(error.__traceback__)
    lines = format_exception(type(error), error, frames)
    if place:
        lines.insert(0, f"adyton: {place}what is named here cannot be loaded:\n")
    if isinstance(error, ModuleNotFoundError) and frames is None:
        lines.append(_where_it_is_not(error.name or ""))
    lines.append(_single.hint(error))
    return "".join(lines).encode("utf-8", "backslashreplace").decode()


def _where_it_is_not(name: str) -> str:
    """What may help to find a module: import says nothing of folders that it may not enter."""
    parent = sys.modules.get(name.rpartition(".")[0])
    closed = [folder for folder in getattr(parent, "__path__", sys.path) if _is_closed(folder)]
    if closed:
        return f"adyton: {_user()} may not enter {', '.join(closed)}, where it is looked for\n"
    if parent is None:
        return f"adyton: it is not in {os.getcwd()}; --python-path names other folders to look in\n"
    return ""


def _is_closed(folder: str) -> bool:
    try:
        _look_into(folder)
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def without_ours(frames: TracebackType | None) -> TracebackType | None:
    """Leaves out the frames of this package and of the import system at the top; nothing if all are."""
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if not (os.path.abspath(file).startswith(_HERE) or "importlib" in file):
            return frames
        frames = frames.tb_next
    return None


def move_in() -> None:
    """Sets the variables that say whose process it is, as a login does: the former user's would mislead."""
    import pwd

    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        os.environ["HOME"] = "/"
        for name in ("USER", "LOGNAME"):
            os.environ.pop(name, None)
    else:
        os.environ.update(HOME=entry.pw_dir, USER=entry.pw_name, LOGNAME=entry.pw_name)


def prepare_worker() -> None:
    """Has the Python stacks of all threads written when this process is ended by a fault, or by SIGABRT.

    Shows the application the command line that the user has typed.
    """
    import faulthandler

    faulthandler.enable(2)
    # A command of this program to itself, and what that is told, stand before it.
    del sys.argv[1:3]


def write_stacks_at_signal(file: int) -> int:
    """Has faulthandler write the stacks of all threads into the open `file` at a signal; returns which.

    It needs the interpreter for this now, and not then.
    """
    import faulthandler
    import signal

    # Not the last one, which is Valgrind's.
    number = signal.SIGRTMAX - 1
    faulthandler.register(number, file=file)
    return number


def write_stack_at_signal(file: int) -> int:
    """Has faulthandler write into the open `file` where a thread is that gets a signal; returns which."""
    import faulthandler
    import signal

    # The two behind it are taken: by the stacks of all threads, and by Valgrind.
    number = signal.SIGRTMAX - 2
    faulthandler.register(number, file=file, all_threads=False)
    return number


def forget_children() -> None:
    """Has this process not wait for children at its end, which :mod:`multiprocessing` does for most.

    What else it does at the end is done: daemons are ended, and finalizers run.
    """
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is None or process is None:
        return
    children: set[Any] = process._children  # noqa: SLF001
    children.difference_update([child for child in children if not child.daemon])


def before_preload() -> None:
    """Keeps the collector from leaving holes in memory that workers are to share.

    Registers what has to be done in a fork before anything that the application does there, which may hang.
    """
    import gc

    gc.disable()
    os.register_at_fork(after_in_child=_end_with_prototype)


def after_preload() -> None:
    """Takes what was imported out of the collector's sight: its look would copy every page.

    Says which threads and timers the import has started: a fork has only the thread that forks (fork(2)).
    """
    import gc

    gc.freeze()
    if signals := end_timers():
        _tell_lost(f"timers of {', '.join(signals)}", "set timers")
    if "threading" not in sys.modules:
        return
    import threading

    names = [thread.name for thread in threading.enumerate() if thread is not threading.current_thread()]
    if names:
        _tell_lost(", ".join(names), "start threads")


def _tell_lost(what: str, remedy: str) -> None:
    from adyton._core import relay

    where = f"{remedy} in a hook of on_worker_start"
    relay(30, "adyton", f"--preload: {what} will not run in workers: {where}")


def end_timers() -> list[str]:
    """Ends the timers of this process (setitimer(2)); returns which signals they would have sent.

    One that fires when the interpreter has put back what signals do by themselves would kill the process.
    """
    import signal

    sends = {
        signal.ITIMER_REAL: "SIGALRM",
        signal.ITIMER_VIRTUAL: "SIGVTALRM",
        signal.ITIMER_PROF: "SIGPROF",
    }
    return [name for timer, name in sends.items() if any(signal.setitimer(timer, 0))]


#: Set while a process is forked that forks a worker.
_forking = False


def _end_with_prototype() -> None:
    """Has the process between the prototype and a worker end when the prototype does, wherever it hangs."""
    global _forking  # noqa: PLW0603
    if _forking:
        from adyton._core import end_with_parent

        _forking = False
        end_with_parent()


def begin_fork() -> tuple[int, int]:
    """Forks a worker that is not this process's child, by way of one that is.

    Returns that one's number, and a descriptor for ``end_fork``; zeros in the worker.
    """
    import gc

    global _forking  # noqa: PLW0603
    reader, writer = os.pipe()
    _forking = True
    midwife = os.fork()
    _forking = False
    if midwife:
        os.close(writer)
        return midwife, reader
    parent = os.getpid()
    if worker := os.fork():
        os.write(writer, str(worker).encode())
        os._exit(0)
    os.close(reader)
    os.close(writer)
    # The supervisor only believes its own children that they are its workers.
    while os.getppid() == parent:
        os.sched_yield()
    gc.enable()
    return 0, 0


def end_fork(midwife: int, reader: int) -> int:
    """Waits until a worker is forked, and returns its number; 0 if it never will be."""
    import contextlib

    worker = os.read(reader, 16)
    os.close(reader)
    # Where the application has SIGCHLD ignored, the kernel has reaped it.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(midwife, 0)
    return int(worker or 0)


def run_hooks(event: str, place: tuple[int, int, int]) -> list[str]:
    """Runs the application's hooks of one kind, if it has any; returns what failed of those at the end.

    Raises what a hook raises.
    """
    if "adyton.hooks" not in sys.modules:
        return []
    return [report(error) for error in sys.modules["adyton.hooks"].run(event, place)]


def note_imports() -> None:
    """Notes of each source file that is imported from now on as which version that was."""
    from importlib.machinery import SourceFileLoader

    path_stats = SourceFileLoader.path_stats

    def noted(self: SourceFileLoader, path: str) -> Any:  # noqa: ANN401
        _imported[path] = os.stat(path).st_mtime_ns
        return path_stats(self, path)

    SourceFileLoader.path_stats = noted  # type: ignore[method-assign]


@functools.cache
def _installed() -> tuple[str, ...]:
    """The folders of what comes with an installation: they are asked about several times a second."""
    import site
    import sysconfig

    paths = sysconfig.get_paths()
    installed = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    installed.update((_HERE, site.getusersitepackages(), *site.getsitepackages()))
    return tuple(os.path.join(folder, "") for folder in installed)


def sources() -> list[tuple[str, int | None]]:
    """The files that the application was imported from, or failed in; not those of an installation.

    With each stands when it had been changed last as it was imported, in nanoseconds since 1970, if that was
    noted.
    """
    brought = _installed()
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return [
        (file, _imported.get(file))
        for file in [*files, *_failed]
        if file and os.path.isabs(file) and not file.startswith(brought)
    ]


def stacks() -> str:
    """Where every thread is but this one, which only asks; those that are in the application come first."""
    import threading
    from traceback import format_stack

    names = {thread.ident: thread.name for thread in threading.enumerate()}
    inside: list[str] = []
    others: list[str] = []
    idle = 0
    for ident, frame in sys._current_frames().items():  # noqa: SLF001
        name, code = names.get(ident, str(ident)), frame.f_code
        is_main = ident == threading.main_thread().ident
        is_server = is_main or name.startswith("adyton-")
        if is_server and (code is threading.Thread.run.__code__ or code.co_filename.startswith(_HERE)):
            idle += 1
        elif ident != threading.get_ident():
            (inside if is_server else others).append(f"Thread {name}:\n{''.join(format_stack(frame))}")
    return "\n".join([*inside, *others, f"Threads of the server that idle: {idle}\n"])


def python() -> str:
    """The interpreter, for the banner: ``CPython 3.13.0``."""
    name = {"cpython": "CPython"}.get(sys.implementation.name, sys.implementation.name)
    version = ".".join(map(str, sys.version_info[:3]))
    threads = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", free-threaded"
    return f"{name} {version}{threads}"
