"""Pictures of shapes given as arrays."""
