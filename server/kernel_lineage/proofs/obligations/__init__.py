"""What is to be proved of a kernel: one kind of obligation a file."""
