"""A Flask application with Flask-Login: a signed cookie says which user is logged in."""

from __future__ import annotations

from flask import Flask, Response, redirect, request
from flask_login import LoginManager, UserMixin, current_user, login_required, login_user, logout_user

application = Flask(__name__)
application.secret_key = "the same in each worker"  # noqa: S105 - protects no account
manager = LoginManager(application)
manager.login_view = "login"


class User(UserMixin):
    """A user with a name."""

    def __init__(self, name: str) -> None:
        """Remember the name."""
        self.id = name


@manager.user_loader
def load(name: str) -> User:
    """Find a user by name."""
    return User(name)


@application.route("/login", methods=["GET", "POST"])
def login() -> Response | str:
    """Log in a user who knows the password."""
    if request.form.get("password") != "only for this test":
        return "name and password?"
    login_user(User(request.form["name"]), remember=True)
    return redirect("/private")


@application.route("/private")
@login_required
def private() -> str:
    """Greet the user who is logged in."""
    return f"welcome, {current_user.id}"


@application.route("/logout", methods=["POST"])
def logout() -> Response:
    """Log the user out."""
    logout_user()
    return redirect("/login")
