"""Evalsite: human evaluation of generated text."""

__version__ = "0.3.0"
