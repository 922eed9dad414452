"""The sample repository and the tour over it."""
