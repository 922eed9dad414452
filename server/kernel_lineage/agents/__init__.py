"""Coding agents: a server of tools for them (MCP), and the hook and plugin that keep their edits behind the gate.

Nothing that an agent says is believed: no argument states a fact, a verdict or trust. What runs is `klineage` itself.
"""
