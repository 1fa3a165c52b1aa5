"""The pages of the shelf."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from books.models import Book


def shelf(request: HttpRequest) -> HttpResponse:
    """List all books."""
    return render(request, "books/shelf.html", {"books": Book.objects.all()})


def book(request: HttpRequest, number: int) -> HttpResponse:
    """Show one book, with its cover if it has one."""
    return render(request, "books/book.html", {"book": get_object_or_404(Book, pk=number)})


@login_required
def private(request: HttpRequest) -> HttpResponse:
    """Greet who has logged in."""
    return render(request, "books/private.html")
