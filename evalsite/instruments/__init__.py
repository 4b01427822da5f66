"""The instrument as one model: its file, what is stored and the object have this one shape."""
