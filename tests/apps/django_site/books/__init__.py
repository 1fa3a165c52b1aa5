"""Books: a model with an upload, its admin, and the pages that show it."""
