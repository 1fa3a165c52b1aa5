"""Migrations of the books."""
