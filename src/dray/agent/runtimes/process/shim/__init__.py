"""The supervisor of one container: a process of its own that outlives the agent.

May live here: modules of the standard library's lightest parts only. A node has one of these for
every container, so neither `typing`, `dataclasses`, `pathlib` nor `subprocess` is imported: they
would double the time to start. The agent imports from here what both must agree on.
"""
