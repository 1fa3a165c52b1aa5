"""Load that goes on until it is ended: every request that fails is noted, with the reason."""

from __future__ import annotations

import http.client
import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

TIMEOUT_S = 40.0


class Load:
    """Clients on threads: some keep their connection, some open one for each request."""

    def __init__(self, port: int, target: str, *, keeping: int = 4, opening: int = 2) -> None:
        """Ask for `target` of `port` on this machine until the end."""
        self.failures: list[str] = []
        self.turned_away: list[str] = []
        """The reasons why connections could not be opened; they are among the failures, too."""
        self.answers: list[str] = []
        self._port, self._target = port, target
        self._stop = threading.Event()
        self._leave = threading.Event()
        clients: list[Callable[[], None]] = [self._keep] * keeping + [self._open] * opening
        self._threads = [threading.Thread(target=client) for client in clients]

    def __enter__(self) -> Self:
        """Begin."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def run(self, seconds: float) -> None:
        """Let the load go on for so many seconds."""
        time.sleep(seconds)

    def let_go(self) -> None:
        """From now on, a client that is told to close its connection does not open another one."""
        self._leave.set()

    def _ask(self, connection: http.client.HTTPConnection) -> bool:
        """Send one request; tell whether the connection can carry another."""
        if connection.sock is None:
            try:
                connection.connect()
            except OSError as error:
                self.failures.append(repr(error))
                self.turned_away.append(repr(error))
                return False
        try:
            connection.request("GET", self._target)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(repr(error))
            return False
        if response.status == http.client.OK:
            self.answers.append(body.decode())
        else:
            self.failures.append(f"{response.status} {body!r}")
        return not response.will_close

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_S)

    def _keep(self) -> None:
        while not self._stop.is_set():
            connection = self._connection()
            while self._ask(connection) and not self._stop.is_set():
                pass
            connection.close()
            if self._leave.is_set():
                return

    def _open(self) -> None:
        while not self._stop.is_set():
            connection = self._connection()
            self._ask(connection)
            connection.close()
