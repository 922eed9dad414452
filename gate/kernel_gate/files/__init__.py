"""Files that may be hostile, state that must stay whole, folders that must not stay. Imports nothing of the gate."""
