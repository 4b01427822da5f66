"""Runs that kill servers in mid-load, and simulated studies, too long for the suite: `make torture`."""
