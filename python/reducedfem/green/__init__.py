"""Solutions of statics computed in advance."""
