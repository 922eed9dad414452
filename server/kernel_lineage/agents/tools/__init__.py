"""One tool a file: what it takes, which command it is, and what of the command's document an agent gets."""
