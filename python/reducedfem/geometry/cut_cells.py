"""Quadrature of cut cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rule", "filled_fractions", "joined_rules", "rule_of"]

# point counts by element, points, weights, products of shape functions
Rule = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def rule_of(rule: Rule | None, chosen: NDArray[np.intp]) -> Rule | None:
    """Return the quadrature of a selection of elements."""
    if rule is None:
        return None
    counts, points, weights, products = rule
    ends, rows = np.cumsum(counts), np.cumsum(counts > 0)
    own = chosen[counts[chosen] > 0]
    at = np.concatenate([np.arange(ends[e] - counts[e], ends[e]) for e in own]) if len(own) else own
    return counts[chosen], points[at], weights[at], products[rows[own] - 1]


def joined_rules(rules: list[tuple[Rule | None, int]]) -> Rule | None:
    """Return the quadrature of several meshes in one; given with their numbers of elements."""
    own = [rule for rule, _ in rules if rule is not None]
    if not own:
        return None
    counts = [np.zeros(n, dtype=np.int32) if rule is None else rule[0] for rule, n in rules]
    points, weights, products = (np.concatenate([rule[k] for rule in own]) for k in (1, 2, 3))
    return np.concatenate(counts), points, weights, products


def filled_fractions(rule: Rule | None, n_elements: int) -> NDArray[np.float64]:
    """Return the filled fraction of each element."""
    filled = np.ones(n_elements)
    if rule is not None:
        counts, _, weights, _ = rule
        own = counts > 0
        first = (np.cumsum(counts) - counts)[own]
        filled[own] = np.add.reduceat(weights, first) / 8.0
    return filled
