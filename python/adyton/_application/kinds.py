"""Says what kind of application an object is, and refuses objects that could answer no request.

The module looks at the code of functions instead of importing ``inspect``, which would delay the first
answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from types import CodeType

#: Flags that mark a function's code (inspect(3), `co_flags`).
_TAKES_ANY_NUMBER = 0x04
_IS_ASYNC = 0x80 | 0x100 | 0x200  # a coroutine, a generator-based coroutine, an asynchronous generator

#: Classes whose objects are ASGI applications, even if their code is compiled and cannot be looked at.
_ASGI_CLASSES = {
    ("blacksheep.server.application", "Application"): "BlackSheep",
    ("channels.routing", "ProtocolTypeRouter"): "Channels",
    ("connexion.apps.asynchronous", "AsyncApp"): "Connexion",
    ("django.core.handlers.asgi", "ASGIHandler"): "Django",
    ("falcon.asgi.app", "App"): "Falcon",
    ("fastapi.applications", "FastAPI"): "FastAPI",
    ("litestar.app", "Litestar"): "Litestar",
    ("quart.app", "Quart"): "Quart",
    ("sanic.app", "Sanic"): "Sanic",
    ("starlette.applications", "Starlette"): "Starlette",
    ("starlette.routing", "Router"): "Starlette",
}

#: Names of an ASGI application's arguments; in version 2 of ASGI it has only the first argument.
_ASGI_ARGUMENTS = ("scope", "receive", "send")

#: Beginnings of names of functions that make an application, even if they take WSGI's two arguments.
_MAKERS = ("create_", "make_", "get_", "build_")

_WSGI_ARGUMENTS = 2


class NoApplicationError(TypeError):
    """Raised for an object that cannot be served; the message says what to do instead."""


class _Call(NamedTuple):
    """How an object may be called: with positional arguments only, as servers do."""

    is_async: bool
    least: int
    #: None if there is no limit.
    most: int | None
    names: tuple[str, ...]
    #: Arguments that can only be given by name, and have to be given.
    missing: tuple[str, ...]

    def takes(self, count: int) -> bool:
        """Whether the object can be called with this many arguments."""
        return not self.missing and self.least <= count and (self.most is None or count <= self.most)


def kind_of(application: object, name: str, interface: str) -> str:
    """Returns ``"handler"`` or ``"wsgi"``: the user's ``interface``, or the one that fits the object.

    A handler has the name ``handler``, or takes exactly one positional argument. Anything else is WSGI.
    Raises ``NoApplicationError`` for an object that can be called as neither.
    """
    if not callable(application):
        kind = type(application).__name__
        raise NoApplicationError(f"{name} is no application: it is of type {kind}, which cannot be called")
    _refuse_known_asgi(application, name)
    call = _call_of(application)
    if interface != "auto":
        kind = interface
    elif name.rpartition(":")[2] == "handler" or (call is not None and call.least == call.most == 1):
        kind = "handler"
    else:
        kind = "wsgi"
    if call is not None:
        _refuse(call, application, name, kind)
    return kind


def _refuse_known_asgi(application: object, name: str) -> None:
    for base in type(application).__mro__:
        framework = _ASGI_CLASSES.get((base.__module__, base.__name__))
        if framework == "Django":
            hint = (
                "serve what django.core.wsgi.get_wsgi_application() makes, which is in the project's wsgi.py"
            )
            raise NoApplicationError(f"{name} is Django's ASGI application, and Adyton serves WSGI: {hint}")
        if framework is not None:
            raise NoApplicationError(_asgi(f"{name} is an ASGI application of {framework}"))


def _asgi(what: str) -> str:
    hint = "use a server for ASGI, or convert it to WSGI (a2wsgi.ASGIMiddleware does that)"
    return f"{what}, and Adyton serves WSGI and plain handlers: {hint}"


def _refuse(call: _Call, application: object, name: str, kind: str) -> None:
    """Raises ``NoApplicationError`` with the reason, if an application cannot be served as ``kind``."""
    if call.names in (_ASGI_ARGUMENTS, _ASGI_ARGUMENTS[:1]) or (call.is_async and call.takes(3)):
        raise NoApplicationError(_asgi(f"{name} is an ASGI application"))
    if call.is_async:
        hint = "make it a plain `def` that calls asynchronous code with asyncio.run()"
        raise NoApplicationError(f"{name} is an `async def`, and Adyton calls plain functions: {hint}")
    if _makes_one(call, application):
        hint = "if it makes the application, add --factory"
        raise NoApplicationError(f"{name} can be called without arguments, which no application can: {hint}")
    wanted = 1 if kind == "handler" else _WSGI_ARGUMENTS
    if call.takes(wanted):
        return
    takes = f"wants {', '.join(call.missing)} by name" if call.missing else f"takes {_count(call)}"
    other, other_kind = (1, "handler") if kind == "wsgi" else (_WSGI_ARGUMENTS, "wsgi")
    hint = f" (--interface {other_kind} would call it with {other})" if call.takes(other) else ""
    called = "a handler is called with one argument, the request"
    if kind == "wsgi":
        called = "a WSGI application is called with two arguments, environ and start_response"
    raise NoApplicationError(f"{name} {takes}, but {called}{hint}")


def _makes_one(call: _Call, application: object) -> bool:
    if call.missing or call.least or call.most is None:
        return False
    called = _attribute(application, "__name__")
    return call.most < _WSGI_ARGUMENTS or (isinstance(called, str) and called.startswith(_MAKERS))


def _count(call: _Call) -> str:
    least = f"{call.least} argument" if call.least == 1 else f"{call.least} arguments"
    if call.most is None:
        return f"{least} or more"
    if call.most == call.least:
        return least
    return f"{call.least} to {call.most} arguments"


def _attribute(application: object, name: str) -> Any:  # noqa: ANN401
    """Returns an attribute, or None if there is none, or if the object's ``__getattr__`` raises anything."""
    try:
        return getattr(application, name, None)
    except Exception:  # noqa: BLE001
        return None


def _call_of(application: Any) -> _Call | None:  # noqa: ANN401
    """Returns how an object is called; None for an object that is not written in Python."""
    if isinstance(application, partial):
        inner = _call_of(application.func)
        return None if inner is None else _bind(inner, len(application.args), tuple(application.keywords))
    has_code = _attribute(application, "__code__") is not None
    function = application if has_code else _attribute(application, "__func__")
    bound = _attribute(application, "__self__") is not None
    if isinstance(application, type):
        made: Any = application.__new__
        if type(application).__call__ is not type.__call__ or made is not object.__new__:
            return None
        function, bound = application.__init__, True  # type: ignore[misc]
    elif function is None:
        function, bound = getattr(type(application), "__call__", None), True  # noqa: B004
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return None
    names = code.co_varnames[: code.co_argcount]
    defaults = len(getattr(function, "__defaults__", None) or ())
    by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    optional = getattr(function, "__kwdefaults__", None) or {}
    call = _Call(
        is_async=bool(code.co_flags & _IS_ASYNC),
        least=len(names) - defaults,
        most=None if code.co_flags & _TAKES_ANY_NUMBER else len(names),
        names=names,
        missing=tuple(name for name in by_name if name not in optional),
    )
    return _bind(call, int(bound), ())


def _bind(call: _Call, count: int, keywords: tuple[str, ...]) -> _Call:
    """Returns the call that is left when the first ``count`` arguments and ``keywords`` are given."""
    missing = [name for name in call.missing if name not in keywords]
    most = None if call.most is None else max(call.most - count, 0)
    least, names = max(call.least - count, 0), call.names[count:]
    given = [place for place, name in enumerate(names) if name in keywords]
    if given:
        # All arguments that follow an argument given by name must be given by name, too.
        missing += [name for name in names[given[0] : least] if name not in keywords]
        most, least, names = given[0], min(least, given[0]), names[: given[0]]
    return call._replace(least=least, most=most, names=names, missing=tuple(missing))
