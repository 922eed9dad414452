"""Why no program can be made of a file."""


class ProgramError(Exception):
    """No program can be made of the file; the message says why and what to do."""


class LaunchChangedError(ProgramError):
    """A change rewrites a launch, and what it computes is not read; the workload's launch would be another one."""


class UnknownKernelError(ProgramError):
    """The file has no kernel of that name; the message lists those that it has."""


class ArgumentsDifferError(ProgramError):
    """The kernel takes other arguments than the workload has; the message lists both."""
