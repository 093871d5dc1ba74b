"""Real-time simulation of large-deformation solids by model reduction."""

from __future__ import annotations

from reducedfem._blas import right_kernels

with right_kernels():
    from reducedfem import _core as _core

del right_kernels
