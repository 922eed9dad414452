"""Tags of data as a launch runs: which elements of its buffers went into a value."""
