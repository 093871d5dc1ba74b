"""Foundations: checks of arguments, long calls, immutable data, the machine."""
