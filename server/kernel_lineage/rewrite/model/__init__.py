"""The language-model lane."""
