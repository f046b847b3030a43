"""Containers by any runtime that speaks CRI v1: containerd, CRI-O.

The only part of the agent that knows CRI's messages. What runs is the runtime's; here is no state
that could not be asked for again.
"""
