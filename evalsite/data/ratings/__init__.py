"""Ratings collected elsewhere: from rows to checked answers, and into the study."""
