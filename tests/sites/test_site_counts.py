"""Metrics count answers by site, and by the group that gives them."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from processes.conftest import admin_of
from sites.conftest import write
from support import client
from support.control import reload, states, status
from support.prometheus import assert_is_prometheus
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

CONTROL = "control.sock"
ENVIRONMENT = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}

FILE = """
[server]
processes = 2
control = "control.sock"
admin = "127.0.0.1:0"

[groups.shop]
processes = 1

[[sites]]
[[sites.routes]]
respond = 200

[[sites]]
hosts = ["shop.example", "www.shop.example"]
[[sites.routes]]
path = "/static/"
respond = 503
[[sites.routes]]
app = "shop:application"
group = "shop"

[[sites]]
hosts = ["idle.example"]
[[sites.routes]]
respond = 200
"""

ONE = """
[server]
processes = 1
control = "control.sock"
[[sites]]
hosts = ["one.example"]
[[sites.routes]]
respond = 200
"""


def counted(server: Server, name: str) -> dict[str, int]:
    """Return the values of a family of metrics by their labels."""
    metrics = client.fetch(admin_of(server), "/metrics").body.decode()
    assert_is_prometheus(metrics)
    found = re.findall(rf"^adyton_site_{name}_total\{{(.*)\}} (\d+)$", metrics, re.MULTILINE)
    return {labels: int(number) for labels, number in found}


def test_by_site_and_group(serve: Servers, project: Path) -> None:
    """Each site's answers are counted by the group that gave them, including answers of ended workers."""
    (project / "shop.py").write_text(
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Length', '0')])\n"
        "    return []\n",
        encoding="utf-8",
    )
    server = serve(write(project, FILE).name, cwd=project, env=ENVIRONMENT)
    assert until(lambda: states(project / CONTROL) == {"shop": "serving"})
    asked = {"shop.example": ["/", "/", "/static/x"], "www.shop.example": ["/"], "else.example": ["/"] * 2}
    for host, paths in asked.items():
        for path in paths:
            server.fetch(path, fields=[("Host", host)])
    expected = {
        'site="-",group=""': 2,
        'site="shop.example",group=""': 1,
        'site="shop.example",group="shop"': 3,
    }

    assert until(lambda: counted(server, "requests") == expected), counted(server, "requests")
    assert {labels: int(labels == 'site="shop.example",group=""') for labels in expected} == counted(
        server, "errors"
    )
    said = [(one["site"], one["requests"]) for one in status(project / CONTROL)["sites"]]
    assert [("-", 2), ("shop.example", 1)] == said

    assert 0 == reload(project / CONTROL)[0]
    own = {labels: number for labels, number in expected.items() if labels.endswith('group=""')}
    assert until(lambda: own.items() <= counted(server, "requests").items()), counted(server, "requests")
    server.signal(signal.SIGTERM)
    assert 0 == server.wait()


def test_one_site(serve: Servers, project: Path) -> None:
    """If there is only one site, answers are not counted by site."""
    server = serve(write(project, ONE).name, cwd=project, env=ENVIRONMENT)
    server.fetch("/")

    assert until(lambda: status(project / CONTROL)["total"]["requests"] == 1)
    assert "sites" not in status(project / CONTROL)
