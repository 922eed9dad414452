"""What every git of ours is started with, so that nothing that a repository's configuration names is run or asked."""

from __future__ import annotations

ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",  # git before 2.45 ignores the line above; with no protocol allowed its fetch fails
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "format.pretty=medium",  # `%G?` in the repository's own asks its gpg.program
    "diff.submodule=short",  # any other starts a git in the submodule, whose configuration is another
    "core.quotePath=false",
)


def git_words(folder: str) -> list[str]:
    """The words of a git command in a folder, before the command itself."""
    return ["git", *(word for setting in SETTINGS for word in ("-c", setting)), "-C", folder]
