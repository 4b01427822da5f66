"""Data out: the files of a study, their columns, and the codebook."""
