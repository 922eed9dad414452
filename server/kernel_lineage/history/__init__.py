"""Git → versions → lineages → transitions. Knows git; knows no skill."""
