"""The command line: ``adyton`` and ``python -m adyton``."""

import os
import sys

from adyton._core import main as run


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    _open_streams()
    # Empty counts as unset (no-color.org).
    color = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    return run(sys.argv[1:], color)


def _open_streams() -> None:
    """Opens closed standard streams (``2>&-``), because a socket or a log would get their numbers.

    Workers inherit the opened streams, as they inherit all others.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            # open(2) returns the lowest free descriptor, which is `number`: all lower ones are open by now.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main())
