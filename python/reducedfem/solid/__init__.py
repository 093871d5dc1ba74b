"""Solids and other systems before reduction: assembly, statics, modes."""
