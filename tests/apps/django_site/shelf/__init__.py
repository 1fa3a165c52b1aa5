"""The project: a shelf of books."""
