"""CUDA C++ read symbolically."""
