"""The sample repository and the tour over it.

`history/` holds the sample's commits as data, one folder each: `commit.toml` and the files that the commit adds or
replaces under `files/`. The same data always give the same commit ids.
"""
