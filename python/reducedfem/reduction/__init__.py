"""Bases and reduced models."""
