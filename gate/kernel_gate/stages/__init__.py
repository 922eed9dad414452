"""The stages of a gate run, one file each."""
