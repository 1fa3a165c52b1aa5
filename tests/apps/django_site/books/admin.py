"""The admin's list of books, with search and filter."""

from django.contrib import admin

from books.models import Book


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    """Columns, search and filter for books."""

    list_display = ("title", "author", "published")
    list_filter = ("author",)
    search_fields = ("title", "author")
