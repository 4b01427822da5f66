"""Data that come in and go out of studies."""
