"""One module a group of addresses; each has a ``router``."""
