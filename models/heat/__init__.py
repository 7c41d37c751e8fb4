"""The heat equation: exact mathematics, data, models, training and evaluation.

Modules here that the service imports (``boundary``, ``panels``, ``propagator``,
``tokens``) use NumPy and SciPy only; PyTorch stays in the training modules.
"""
