"""Pages that the peers serve; a copy of this folder stands beside each of them while it runs."""
