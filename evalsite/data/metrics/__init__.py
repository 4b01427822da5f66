"""Scores of automatic metrics: from the rows of a file to the outputs of a study."""
