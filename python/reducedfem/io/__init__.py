"""Files: all formats that the package reads and writes."""
