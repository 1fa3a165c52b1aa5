"""The command line: ``adyton`` and ``python -m adyton``."""

import os
import sys

from adyton._core import main as run


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    return run(sys.argv[1:], color)


if __name__ == "__main__":
    sys.exit(main())
