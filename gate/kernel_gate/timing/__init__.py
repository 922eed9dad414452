"""Is the candidate faster? Paired samples, the noise of the measurement itself, and a state that starts ambiguous."""
