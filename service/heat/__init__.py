"""POST /pde/heat: from a request to values that were checked against exact formulas."""
