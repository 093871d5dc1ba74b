"""Green's functions of the surfaces of solids."""
