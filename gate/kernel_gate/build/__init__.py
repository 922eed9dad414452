"""From a program to an image, in a child process with limits."""
