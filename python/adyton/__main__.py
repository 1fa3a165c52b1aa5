"""The command line: ``adyton`` and ``python -m adyton``."""

import os
import sys

from adyton._core import main as run


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    # Empty counts as unset (no-color.org).
    color = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    return run(sys.argv[1:], color)


if __name__ == "__main__":
    sys.exit(main())
