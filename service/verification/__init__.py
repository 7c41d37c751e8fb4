"""Proof and refutation of answers; everything here runs in worker processes."""
