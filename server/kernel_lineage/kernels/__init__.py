"""Source text → kernels, launches, mechanisms, anchors, guards. Knows no git, no skills, no devices."""
