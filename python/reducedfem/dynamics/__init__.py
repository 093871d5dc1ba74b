"""Integration in time."""
