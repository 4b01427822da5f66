"""Measurements against the budgets of the design: `make bench`, never part of the tests."""
