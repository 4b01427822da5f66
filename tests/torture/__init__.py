"""Runs that kill servers in mid-load, too long for the suite: `make torture`."""
