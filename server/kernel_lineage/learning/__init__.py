"""Transitions → conditions: what a later guard says about an earlier step, what running a version says of it."""
