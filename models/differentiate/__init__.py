"""Differentiation: data generators, labels, training sets and evaluation."""
