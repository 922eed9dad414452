"""One file per family of opcodes; each registers its builders with `registry.opcode`."""
