"""Paths of all pages."""

from books import views
from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

urlpatterns = [
    path("", views.shelf, name="shelf"),
    path("books/<int:number>/", views.book, name="book"),
    path("accounts/login/", LoginView.as_view(), name="login"),
    path("private/", views.private, name="private"),
    path("digest/", views.digest, name="digest"),
    path("form/", views.form, name="form"),
    # Browsers ask for this file on pages of the admin, which name no icon.
    path("favicon.ico", RedirectView.as_view(url=static("books/icon.svg"))),
    path("admin/", admin.site.urls),
]
