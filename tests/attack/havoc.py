"""An application that does havoc to its own process, one kind per path."""

from __future__ import annotations

import builtins
import faulthandler
import gc
import io
import locale
import logging
import os
import resource
import signal
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = ("Content-Type", "text/plain")
HAVOC: dict[str, Callable[[], object]] = {}


def havoc(function: Callable[[], object]) -> Callable[[], object]:
    """Register a kind under its name."""
    HAVOC[function.__name__.strip("_")] = function
    return function


def application(environ: dict[str, Any], start_response: Any) -> Any:
    """Do what the path says, and answer with the process's number."""
    path = environ["PATH_INFO"]
    if path == "/fails":
        raise LookupError("told in the log")
    if path == "/prints":
        print("printed")  # noqa: T201 (it is what is tried)
        print("printed", file=environ["wsgi.errors"])
    if path.startswith("/havoc/"):
        HAVOC[path.removeprefix("/havoc/")]()
    start_response("200 OK", [PLAIN])
    return [str(os.getpid()).encode()]


class Broken(io.TextIOBase):
    """A stream that fails whatever is done."""

    def write(self, _text: str) -> int:
        """Fail."""
        raise OSError("broken stream")

    def flush(self) -> None:
        """Fail."""
        raise OSError("broken stream")


def fail(*_: Any, **__: Any) -> Any:
    """Fail, whatever is given."""
    raise ValueError("failing on purpose")


def leave(*_: Any, **__: Any) -> Any:
    """Leave, whatever is given."""
    raise SystemExit("leaving on purpose")


def limit(kind: int, most: int) -> None:
    """Lower a limit of the process."""
    resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _set(holder: Any, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(holder, name, value)


def _remove(holder: Any, name: str) -> Callable[[], None]:
    return lambda: delattr(holder, name)


for _stream in ("stdout", "stderr", "stdin", "__stdout__", "__stderr__"):
    HAVOC[f"{_stream}-none"] = _set(sys, _stream, None)
    HAVOC[f"{_stream}-broken"] = _set(sys, _stream, Broken())
    HAVOC[f"{_stream}-number"] = _set(sys, _stream, 7)
for _hook in ("excepthook", "unraisablehook", "displayhook", "breakpointhook"):
    HAVOC[f"{_hook}-fails"] = _set(sys, _hook, fail)
    HAVOC[f"{_hook}-none"] = _set(sys, _hook, None)
HAVOC |= {
    "excepthook-leaves": _set(sys, "excepthook", leave),
    "thread-hook-fails": _set(threading, "excepthook", fail),
    "stdout-gone": _remove(sys, "stdout"),
    "stderr-gone": _remove(sys, "stderr"),
    "traceback-gone": lambda: [sys.modules.pop("traceback"), _set(traceback, "print_exception", None)()],
    "traceback-fails": lambda: [setattr(traceback, name, fail) for name in dir(traceback) if "a" in name],
    "logging-fails": lambda: [
        setattr(logging, name, fail) for name in ("getLogger", "getLevelName", "Handler")
    ],
    "logging-modules-gone": lambda: [
        sys.modules.pop(name) for name in list(sys.modules) if "logging" in name
    ],
    "our-modules-gone": lambda: [sys.modules.pop(name) for name in list(sys.modules) if "adyton" in name],
    "all-modules-gone": sys.modules.clear,
    "print-fails": _set(builtins, "print", fail),
    "len-fails": _set(builtins, "len", fail),
    "open-fails": _set(builtins, "open", fail),
    "import-fails": _set(builtins, "__import__", fail),
    "environment-gone": os.environ.clear,
    "time-fails": lambda: [setattr(time, name, fail) for name in ("time", "monotonic", "sleep", "gmtime")],
    "os-fails": lambda: [setattr(os, name, fail) for name in ("write", "close", "read", "kill", "fspath")],
    "path-gone": sys.path.clear,
    "setprofile-fails": lambda: sys.setprofile(fail),
    "thread-trace-fails": lambda: threading.settrace(fail),
    "recursion-limit": lambda: sys.setrecursionlimit(60),
    "recursion-limit-huge": lambda: sys.setrecursionlimit(2**31 - 1),
    "switch-interval-tiny": lambda: sys.setswitchinterval(1e-6),
    "switch-interval-huge": lambda: sys.setswitchinterval(1000),
    "gc-frozen": lambda: [gc.freeze(), gc.disable()],
    "gc-always": lambda: gc.set_threshold(1, 1, 1),
    "gc-debug": lambda: gc.set_debug(gc.DEBUG_SAVEALL),
    "gc-callback-fails": lambda: [gc.callbacks.append(fail), gc.collect()],
    "warnings-are-errors": lambda: warnings.simplefilter("error"),
    "no-locale": lambda: [locale.setlocale(locale.LC_ALL, "C"), os.environ.update(LC_ALL="C", LANG="C")],
    "time-zone": lambda: [os.environ.update(TZ="Pacific/Apia"), time.tzset()],
    "another-folder": lambda: os.chdir("/"),
    "umask": lambda: os.umask(0o777),
    "nice": lambda: os.nice(1),
    "few-files": lambda: limit(resource.RLIMIT_NOFILE, len(list(Path("/proc/self/fd").iterdir())) + 2),
    "no-file-size": lambda: limit(resource.RLIMIT_FSIZE, 0),
    "no-stack": lambda: limit(resource.RLIMIT_STACK, 1 << 16),
    "no-core": lambda: limit(resource.RLIMIT_CORE, 0),
    "faulthandler-off": faulthandler.disable,
    "logging-disabled": lambda: logging.disable(logging.CRITICAL),
    "logging-shut-down": logging.shutdown,
    "handlers-gone": logging.getLogger().handlers.clear,
    "root-broken": lambda: logging.basicConfig(stream=Broken(), force=True),
    "signals-blocked": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()),
    "window-signal": lambda: os.kill(os.getpid(), signal.SIGWINCH),
    "continue-signal": lambda: os.kill(os.getpid(), signal.SIGCONT),
    "child-signal": lambda: os.kill(os.getpid(), signal.SIGCHLD),
    "pipe-signal": lambda: os.kill(os.getpid(), signal.SIGPIPE),
    "urgent-signal": lambda: os.kill(os.getpid(), signal.SIGURG),
    "reopen-signal": lambda: os.kill(os.getpid(), signal.SIGUSR1),
    "thread-fails": lambda: threading.Thread(target=fail).start(),
    "thread-leaves": lambda: threading.Thread(target=leave).start(),
    "session": lambda: os.setsid() if os.getpgrp() != os.getpid() else None,
    "child-that-ends": lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
    "child-that-stays": lambda: os.posix_spawn("/bin/true", ["true"], {}),
}


@havoc
def _faulthandler_later() -> None:
    """Have all threads dumped, and stand still until the dump has begun.

    A dump reads the frames of running threads without their lock: CPython may crash if a thread moves on.
    """
    reader, writer = os.pipe()
    faulthandler.dump_traceback_later(0.001, file=writer)
    os.read(reader, 1)
    # This call waits for the end of a dump that has begun.
    faulthandler.cancel_dump_traceback_later()
    os.close(reader)
    os.close(writer)


@havoc
def _many_threads() -> None:
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(200)]
    for thread in threads:
        thread.start()
    stop.set()
    for thread in threads:
        thread.join()


@havoc
def _memory() -> None:
    kept = [bytearray(1 << 20) for _ in range(200)]
    del kept


@havoc
def _cycle() -> None:
    class Loud:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            raise SystemExit("in a finalizer")

    for _ in range(100):
        Loud()
    gc.collect()


@havoc
def _async_exception() -> None:
    import ctypes  # noqa: PLC0415 (only here)

    raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raised(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(KeyboardInterrupt))


@havoc
def _files() -> None:
    kept = []
    try:
        while True:
            kept.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for descriptor in kept:
            os.close(descriptor)
