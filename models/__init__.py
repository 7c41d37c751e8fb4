"""Architectures, data generators, training, evaluation, export and the shipped artifacts."""
