"""Cards, conditions and the library on disk. Knows no git and no device."""
