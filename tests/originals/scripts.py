"""Serves the same CGI programs by Apache, by nginx with fcgiwrap, and by our server."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

from originals.conftest import USER, Original, apache, nginx, program
from support.server import STOP_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from support.client import Address
    from support.server import Servers

PROGRAMS = Path(__file__).with_name("programs")

STEADY = {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
"""Variables that fix Perl's order of keys, so that pages are equal."""

APACHE = """
ServerRoot /usr/lib/apache2
{user}
PidFile {folder}/logs/pid
ErrorLog {folder}/logs/error.log
Listen 127.0.0.1:{port}
ServerName shop.example
ServerAdmin webmaster@shop.example
TypesConfig /etc/mime.types
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule alias_module modules/mod_alias.so
LoadModule auth_basic_module modules/mod_auth_basic.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule cgid_module modules/mod_cgid.so
LoadModule env_module modules/mod_env.so
LoadModule mime_module modules/mod_mime.so
ScriptSock {folder}/logs/cgid
DocumentRoot {folder}/public
<Directory />
    Require all granted
</Directory>
<Location /staff/>
    AuthType Basic
    AuthName "Staff"
    AuthUserFile {folder}/users
    Require valid-user
</Location>
{lines}
"""

NGINX = """
pid {folder}/logs/nginx.pid;
events {{ }}
http {{
    access_log off;
    server {{
        listen 127.0.0.1:{port};
        server_name shop.example;
        root {folder}/public;
        include /etc/nginx/fastcgi_params;
        fastcgi_split_path_info ^(/[^/]+/[^/]+)(.*)$;
        fastcgi_param PATH_INFO $fastcgi_path_info;
        fastcgi_param PATH_TRANSLATED $document_root$fastcgi_path_info;
        fastcgi_param SCRIPT_FILENAME {folder}$fastcgi_script_name;
        fastcgi_buffer_size 64k;
        fastcgi_buffers 4 64k;
        location /cgi-bin/ {{ fastcgi_pass unix:{folder}/logs/fcgiwrap; }}
        location /staff/ {{
            auth_basic "Staff";
            auth_basic_user_file {folder}/users;
            fastcgi_pass unix:{folder}/logs/fcgiwrap;
        }}
    }}
}}
"""


@dataclass(frozen=True)
class Programs:
    """Programs, the paths at which they are served, and their variables."""

    folder: Path
    paths: Mapping[str, Path]
    """The folders of programs, by their paths."""
    variables: Mapping[str, str] = field(default_factory=dict)
    ours: Mapping[str, str] = field(default_factory=dict)
    """Variables that Apache sets by itself, for our server."""
    data: str = ""
    """The variable that names the folder for data sent to programs; each server has a folder of its own."""

    def with_data(self, server: str) -> dict[str, str]:
        """Return all variables for the programs of a server."""
        variables = {**STEADY, **self.variables}
        if self.data:
            data = self.folder / f"data-of-{server}"
            data.mkdir()
            # Apache's programs run as another user, if root runs the tests.
            data.chmod(0o777)
            variables[self.data] = str(data)
        return variables

    def on_apache(self, port: int) -> Original:
        """Return Apache with these programs."""
        aliases = [f'ScriptAlias {path} "{folder}/"' for path, folder in self.paths.items()]
        variables = [f'SetEnv {name} "{value}"' for name, value in self.with_data("apache").items()]
        file = self.folder / "httpd.conf"
        user = f"User {USER}\nGroup {USER}" if os.geteuid() == 0 else ""
        lines = "\n".join([*aliases, *variables])
        file.write_text(
            APACHE.format(folder=self.folder, port=port, user=user, lines=lines), encoding="utf-8"
        )
        return apache(self.folder, file, port)

    def on_ours(self, serve: Servers) -> Address:
        """Start our server with these programs; return its address."""
        text = f"[[sites]]\nroot = {json.dumps(str(self.folder / 'public'))}\n"
        variables = [*self.with_data("ours").items(), *self.ours.items()]
        text += f"cgi-environment = {json.dumps([f'{name}={value}' for name, value in variables])}\n"
        text += f"\n[[sites.routes]]\nfiles = {json.dumps(str(self.folder / 'public'))}\n"
        for path, folder in self.paths.items():
            text += f"\n[[sites.routes]]\npath = {json.dumps(path)}\ncgi = {json.dumps(str(folder))}\n"
            if path == "/staff/":
                text += f'auth = {json.dumps(f"basic:{self.folder}/users")}\nauth-realm = "Staff"\n'
        (self.folder / "site.toml").write_text(text, encoding="utf-8")
        env = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
        return serve("site.toml", cwd=self.folder, env=env).address


@contextlib.contextmanager
def behind_nginx(folder: Path, port: int) -> Iterator[Address]:
    """Run the programs of the folders `cgi-bin` and `staff` by fcgiwrap behind nginx; give its address."""
    place, file = folder / "logs/fcgiwrap", folder / "nginx.conf"
    file.write_text(NGINX.format(folder=folder, port=port), encoding="utf-8")
    env = {**STEADY, "PATH": "/usr/bin:/bin", "OF_ITS_OWN": "1"}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        # nginx runs as another user, if root runs the tests.
        place.chmod(0o777)
        listener.listen()
        process = subprocess.Popen([program("fcgiwrap")], stdin=listener, env=env, start_new_session=True)
    try:
        with nginx(folder, file, port) as original:
            yield original.address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(STOP_TIMEOUT_S)


def ours_to_run(folder: Path) -> Path:
    """Copy the tests' programs, and the modules for Python's forms, to where any user may run them."""
    copy = folder / "cgi-bin"
    shutil.copytree(PROGRAMS, copy)
    # A script looks for the module `cgi` beside itself first; from 3.13 on Python no longer has it.
    for name in ("cgi.py", "cgitb.py"):
        shutil.copy(Path(str(distribution("legacy-cgi").locate_file(name))), copy / name)
    return copy
