"""Haptic sessions: coupling, devices, the loop and its records."""
