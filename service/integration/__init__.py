"""From the form of an antiderivative to a proved one; runs inside worker processes."""
