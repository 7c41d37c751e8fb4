"""Families of problems, each with a recipe for the form of its antiderivatives.

A family module has ``sample(rng) -> Problem``. Recipes never solve: they name a few
terms more than an antiderivative may need, and the linear algebra drops the rest.
"""
