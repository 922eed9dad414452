"""Matrices of the tensor cores: their number formats, where their elements lie, and what a product is."""
