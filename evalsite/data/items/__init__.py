"""Batches of items: from rows to checked items, and into the study."""
