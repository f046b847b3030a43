"""Containers as supervised processes of this host: no images, and only as much isolation as asked.

May live here: what the agent does to make, find, stop and enter such containers, and in `shim` the
small program that stands beside each of them. May not: anything about pods beyond their identity.
This file imports nothing: every supervisor loads it, and must start in milliseconds.
"""
