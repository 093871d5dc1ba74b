"""Distance fields, pointshells and the contact of both."""
