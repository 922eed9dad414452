"""What the attacks share with the tests of the editor."""

from editor.conftest import scale

__all__ = ["scale"]
