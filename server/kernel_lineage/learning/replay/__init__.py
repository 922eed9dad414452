"""Transitions through the gate: both states built, checked and profiled, and what that says of the step."""
