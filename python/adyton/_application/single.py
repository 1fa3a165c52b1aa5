"""Recognises applications that keep, in the memory of one process, state that all workers would need.

This imports no module and calls no code of the application: it knows classes by their names.
"""

from __future__ import annotations

import contextlib
import errno
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Attributes in which wrappers keep the application that they wrap.
_WRAPPED = ("app", "application", "wsgi_app", "wrap_app", "wrapped_app", "_app", "_application")

#: How many layers of wrappers are looked through at most.
_LAYERS_MAX = 32


def reasons(application: object) -> list[str]:
    """Returns why one process must serve an application: a part of a sentence for each reason."""
    found: dict[str, None] = {}
    for layer in _layers(application):
        for look in (_debugger, _cherrypy, _beaker, _flask_session, _wsgidav, _django):
            # Objects of the application may raise anything, as in `_layers`.
            with contextlib.suppress(Exception):
                found.update(dict.fromkeys(look(layer)))
    return list(found)


def hint(error: BaseException) -> str:
    """Returns a hint if the import failed because another process holds a lock or an address; else empty."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    numbers = {each.errno for each in causes if isinstance(each, OSError)}
    # flock(2) and fcntl(2) fail with EAGAIN; so does dbm.gnu, whose own error class is an OSError, too.
    if errno.EAGAIN in numbers or any(_is(each, "zc.lockfile", "LockError") for each in causes):
        what = "has locked it"
    elif errno.EADDRINUSE in numbers:
        what = "listens at this address"
    else:
        return ""
    helps = "if that process is another worker of this server, start the server with --processes 1"
    return f"adyton: perhaps another process {what}; {helps}\n"


def _layers(application: object) -> Iterator[Any]:
    """Yields an application and the applications that it wraps, as far as its attributes show them."""
    waiting: list[object] = [application]
    seen: set[int] = set()
    while waiting and len(seen) < _LAYERS_MAX:
        layer = waiting.pop(0)
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        yield layer
        # Objects of the application may raise anything when they are looked at; that must not stop a server.
        with contextlib.suppress(Exception):
            waiting += _wrapped(layer)


def _wrapped(layer: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yields the objects inside a layer: a method's object, a wrapped function, a wrapped application."""
    found = [getattr(layer, name, None) for name in ("__self__", "__wrapped__")]
    own = getattr(layer, "__dict__", {})
    found += [own.get(name) for name in _WRAPPED]
    if _is(layer, "cherrypy._cptree", "Tree"):
        found += layer.apps.values()
    yield from (inner for inner in found if inner is not None)


def _is(found: object, module: str, name: str) -> bool:
    """Whether an object is of a class, or of a subclass of it."""
    kind = found if isinstance(found, type) else type(found)
    return any(each.__module__ == module and each.__qualname__ == name for each in kind.__mro__)


def _debugger(layer: Any) -> Iterator[str]:  # noqa: ANN401
    if _is(layer, "werkzeug.debug", "DebuggedApplication") and layer.evalex:
        yield "Werkzeug's debugger keeps the frames of an error there"


def _cherrypy(layer: Any) -> Iterator[str]:  # noqa: ANN401
    if not _is(layer, "cherrypy._cptree", "Application"):
        return
    common = {**sys.modules["cherrypy"].config, **layer.config.get("/", {})}
    for section in [{}, *(part for path, part in layer.config.items() if path.startswith("/"))]:
        settings = common | section
        store = settings.get("tools.sessions.storage_class")
        kind = settings.get("tools.sessions.storage_type")
        in_memory = _is(store, "cherrypy.lib.sessions", "RamSession") or store is None
        if settings.get("tools.sessions.on") and in_memory and kind in (None, "ram"):
            yield "CherryPy keeps sessions there (tools.sessions.storage_class)"


def _beaker(layer: Any) -> Iterator[str]:  # noqa: ANN401
    if not _is(layer, "beaker.middleware", "SessionMiddleware"):
        return
    kind, folder = layer.options.get("type"), layer.options.get("data_dir")
    if kind == "memory" or (kind is None and folder is None):
        yield "Beaker keeps sessions there (session.type)"


def _flask_session(layer: Any) -> Iterator[str]:  # noqa: ANN401
    interface = getattr(layer, "__dict__", {}).get("session_interface")
    if any(
        _is(store, "cachelib.simple", "SimpleCache") for store in getattr(interface, "__dict__", {}).values()
    ):
        yield "Flask-Session keeps sessions there (SESSION_CACHELIB)"


def _wsgidav(layer: Any) -> Iterator[str]:  # noqa: ANN401
    if not _is(layer, "wsgidav.wsgidav_app", "WsgiDAVApp"):
        return
    storage = layer.lock_manager and layer.lock_manager.storage
    if storage and type(storage).__name__ == "LockStorageDict":
        yield "wsgidav keeps locks there (lock_storage)"
    if layer.prop_manager and type(layer.prop_manager).__name__ == "PropertyManager":
        yield "wsgidav keeps properties there (property_manager)"


def _django(layer: Any) -> Iterator[str]:  # noqa: ANN401
    if not _is(layer, "django.core.handlers.wsgi", "WSGIHandler"):
        return
    settings = sys.modules["django.conf"].settings
    cache = settings.CACHES.get(settings.SESSION_CACHE_ALIAS, {}).get("BACKEND", "")
    if settings.SESSION_ENGINE == "django.contrib.sessions.backends.cache" and cache.endswith("LocMemCache"):
        yield "Django keeps sessions there (SESSION_ENGINE)"
