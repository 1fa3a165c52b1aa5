"""Pages that the peers serve; each peer gets a copy of this folder while it runs."""
