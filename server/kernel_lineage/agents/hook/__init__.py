"""The hook of coding agents: an edit of a kernel that no verdict allows does not happen."""
