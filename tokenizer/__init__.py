"""Text and LaTeX to one grammar tree, and the tree to tokens and back."""
