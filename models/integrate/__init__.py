"""Training data for integration: integrands as people write them, labelled with an ansatz."""
