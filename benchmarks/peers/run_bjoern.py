"""Starts bjoern, which has no command line, at the port given: `run_bjoern.py PORT`."""

import sys
from pathlib import Path

import bjoern

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "apps"))

from hello_wsgi import application  # the folder is on the path only from here on

bjoern.run(application, "127.0.0.1", int(sys.argv[1]), listen_backlog=4096)
