"""Servers that are killed in mid-load, and simulated studies: parts of `make torture`."""
