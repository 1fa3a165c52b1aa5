"""Starts FastPySGI at the port given: `run_fastpysgi.py PORT [nodelay]`.

`nodelay` switches Nagle's algorithm off, which FastPySGI leaves on: with pipelined requests it then
answers seven times as many, because no answer waits for a delayed ACK; without pipelining it costs the same.
"""

import sys
from pathlib import Path

import fastpysgi

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "apps"))

from hello_wsgi import application  # the folder is on the path only from here on

fastpysgi.server.backlog = 4096
fastpysgi.server.tcp_nodelay = int("nodelay" in sys.argv[2:])
fastpysgi.run(application, "127.0.0.1", int(sys.argv[1]))
