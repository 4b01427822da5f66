"""Judges beside people: their page, and their certificates."""
