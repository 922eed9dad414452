"""What is closed at the end of its `with` block: processes, folders, connections, devices."""

from typing import Self


class Closing:
    """A context manager that gives itself and closes itself, however the block ends."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what it holds; what is closed already stays so."""
        raise NotImplementedError
