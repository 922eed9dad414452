"""The licence that a repository states, as its SPDX identifier: whoever passes a skill on must know it."""

from __future__ import annotations

import re

UNKNOWN = "NOASSERTION"
"""SPDX's word for: nothing was found that says it."""
FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING", "COPYING.txt")

_TAG = re.compile(r"SPDX-License-Identifier:\s*([A-Za-z0-9.+()\- ]+?)\s*(?:\*/|-->|$)", re.MULTILINE)
_SIGNS: tuple[tuple[str, str], ...] = (
    ("Apache-2.0", r"Apache License\s+Version 2\.0"),
    ("LGPL-3.0-only", r"GNU LESSER GENERAL PUBLIC LICENSE\s+Version 3"),
    ("AGPL-3.0-only", r"GNU AFFERO GENERAL PUBLIC LICENSE\s+Version 3"),
    ("GPL-3.0-only", r"GNU GENERAL PUBLIC LICENSE\s+Version 3"),
    ("GPL-2.0-only", r"GNU GENERAL PUBLIC LICENSE\s+Version 2"),
    ("MPL-2.0", r"Mozilla Public License,? (?:Version|v\.?) ?2\.0"),
    ("BSD-3-Clause", r"Redistribution and use in source and binary forms.*Neither the name"),
    ("BSD-2-Clause", r"Redistribution and use in source and binary forms"),
    ("MIT", r"Permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("ISC", r"Permission to use, copy, modify, and(?:/or)? distribute this software for any purpose"),
    ("Unlicense", r"This is free and unencumbered software released into the public domain"),
)


def licence_of_file(source: str) -> str | None:
    """The identifier that a source file states in its first lines, if it does."""
    match = _TAG.search("\n".join(source.splitlines()[:30]))
    return match[1].strip() if match else None


def licence_of_text(text: str) -> str:
    """The identifier of a licence's text; `NOASSERTION` for one that is not among the common ones."""
    if tag := licence_of_file(text):
        return tag
    plain = " ".join(text.split())
    return next((name for name, sign in _SIGNS if re.search(sign, plain, re.IGNORECASE)), UNKNOWN)
