"""Triton read symbolically."""
