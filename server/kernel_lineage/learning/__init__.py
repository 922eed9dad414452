"""Transitions → conditions and skills."""
