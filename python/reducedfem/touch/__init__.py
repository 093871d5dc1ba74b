"""Bodies that a hand touches directly, without a virtual coupling."""
