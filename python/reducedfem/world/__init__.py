"""Many bodies in contact, offline."""
