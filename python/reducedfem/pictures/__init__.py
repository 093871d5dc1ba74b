"""Pictures, films and exports of objects."""
