"""Host code followed with numbers that keep their names: what a launch is given, over the sizes of its caller."""
