"""A skill at an anchor → candidate → gate → edit."""
