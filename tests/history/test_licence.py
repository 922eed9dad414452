"""Licences: what a file or a repository's licence text says, and what is not recognised."""

import pytest

from kernel_lineage.history.licence import UNKNOWN, licence_of_file, licence_of_text


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("                 Apache License\n           Version 2.0, January 2004", "Apache-2.0"),
        ("Permission is hereby granted, free of charge, to any\nperson obtaining a copy of", "MIT"),
        ("Redistribution and use in source and binary forms, with or without", "BSD-2-Clause"),
        ("Redistribution and use in source and binary forms … Neither the name of", "BSD-3-Clause"),
        ("                    GNU GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007", "GPL-3.0-only"),
        ("All rights reserved.", UNKNOWN),
        ("SPDX-License-Identifier: MIT OR Apache-2.0\n", "MIT OR Apache-2.0"),
    ],
)
def test_a_licence_is_known_by_its_words(text, licence):
    assert licence_of_text(text) == licence


def test_a_file_can_state_its_own():
    assert (
        licence_of_file("/* SPDX-License-Identifier: BSD-3-Clause */\n__global__ void k() {}")
        == "BSD-3-Clause"
    )
    assert licence_of_file("__global__ void k() {}") is None
