"""A choice of processes and threads, and how it is written for each server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Choice:
    """A number of processes, and of threads in each. Choices are ordered by the memory that they need."""

    processes: int
    threads: int

    def __str__(self) -> str:
        """Returns the choice as the report shows it."""
        return f"{plural(self.processes, 'process', 'es')} x {plural(self.threads, 'thread', 's')}"

    @property
    def flags(self) -> tuple[str, ...]:
        """Options for ``adyton serve``."""
        return (f"--processes={self.processes}", f"--threads={self.threads}")

    def written(self, target: str) -> dict[str, str]:
        """Returns the choice as settings of several servers, by the name of the server."""
        processes, threads = self.processes, self.threads
        return {
            "Adyton": f"adyton serve {target} --processes {processes} --threads {threads}",
            "gunicorn": f"--worker-class gthread --workers {processes} --threads {threads}",
            "uWSGI": f"--master --processes {processes} --enable-threads --threads {threads}",
            "mod_wsgi": f"WSGIDaemonProcess NAME processes={processes} threads={threads}",
        }


def plural(count: int, word: str, ending: str) -> str:
    """Returns a count with its noun, in the plural unless the count is 1."""
    return f"{count} {word}{ending if count != 1 else ''}"
