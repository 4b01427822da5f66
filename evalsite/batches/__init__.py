"""Outputs as tools and scripts write them, made into one table of items; without Django."""
