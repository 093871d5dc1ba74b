"""Surfaces, volume meshes, poses, and points that move with a mesh."""
