"""The condition language: one tree, evaluated, rendered, translated."""
