"""A CherryPy application: forms, files, and sessions in a folder that all workers share."""

from __future__ import annotations

import os

import cherrypy

cherrypy.config.update({"environment": "embedded"})


class Root:
    """The pages."""

    @cherrypy.expose
    def index(self) -> str:
        """Count the visits of a client."""
        cherrypy.session["visits"] = cherrypy.session.get("visits", 0) + 1
        return str(cherrypy.session["visits"])

    @cherrypy.expose
    def form(self, name: str, text: str) -> str:
        """Say what stands in a form."""
        return f"{name} said {text}"

    @cherrypy.expose
    def upload(self, file: cherrypy._cpreqbody.Part) -> str:
        """Say how many bytes a file has."""
        return str(len(file.file.read()))

    @cherrypy.expose
    def old(self) -> None:
        """Lead to the front page."""
        raise cherrypy.HTTPRedirect("/")


application = cherrypy.Application(
    Root(),
    script_name="",
    config={
        "/": {
            "tools.sessions.on": True,
            "tools.sessions.storage_class": cherrypy.lib.sessions.FileSession,
            "tools.sessions.storage_path": os.environ["SITE_DATA"],
            "tools.sessions.locking": "implicit",
        }
    },
)
