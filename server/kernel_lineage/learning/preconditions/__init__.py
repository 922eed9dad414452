"""What the change of a fix says of the code before it: under which launches that was right."""
