"""Model of a book on the shelf."""

from django.db import models


class Book(models.Model):
    """One book on the shelf."""

    title = models.CharField(max_length=200)
    author = models.CharField(max_length=200)
    published = models.DateField()
    cover = models.FileField(upload_to="covers/", blank=True)

    class Meta:
        """Order of the books on the shelf."""

        ordering = ("author", "title")

    def __str__(self) -> str:
        """Name the book as the admin shows it."""
        return f"{self.title} ({self.author})"
