"""What keeps foreign code that a compiler child runs away from files, the network and other processes."""
