"""The emulated device: PTX executed on NumPy, all threads of a wave of blocks at once.

Architecture invariants:

- `ptx` turns text into statements and knows nothing of execution; `decode` turns them into steps, once per image.
- An opcode lives in one file of `instructions/`; whatever is not there is an `unsupported` fault, never a pass.
- Every address names its allocation (`addresses`), so an access is judged against the buffer it was based on.
- Nothing here measures time. Counts are facts of the executed addresses.
"""
