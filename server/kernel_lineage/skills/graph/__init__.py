"""The transition graph: directions and, under each, strategies; what followed what, how well it did, and what is next."""
