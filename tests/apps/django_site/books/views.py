"""The pages of the shelf."""

import hashlib

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.csrf import csrf_exempt

from books.models import Book


def shelf(request: HttpRequest) -> HttpResponse:
    """List all books."""
    return render(request, "books/shelf.html", {"books": Book.objects.all()})


def book(request: HttpRequest, number: int) -> HttpResponse:
    """Show one book, with its cover if it has one."""
    return render(request, "books/book.html", {"book": get_object_or_404(Book, pk=number)})


@login_required
def private(request: HttpRequest) -> HttpResponse:
    """Greet the user who has logged in."""
    return render(request, "books/private.html")


@csrf_exempt
def digest(request: HttpRequest) -> HttpResponse:
    """Tell the length of the body and its hash."""
    return JsonResponse({"bytes": len(request.body), "sha256": hashlib.sha256(request.body).hexdigest()})


@csrf_exempt
def form(request: HttpRequest) -> HttpResponse:
    """Tell the fields of a form."""
    return JsonResponse(request.POST.dict())
