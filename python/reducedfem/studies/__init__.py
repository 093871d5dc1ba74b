"""Parameter studies."""
