"""Pages on which instruments are chosen, tried and built."""
