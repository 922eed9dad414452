"""What fed a value: one block's run is recorded, and walked backwards from the store of one element."""
