"""What is offered first: how often others took a step that could, what was measured, and what limits the kernel."""
