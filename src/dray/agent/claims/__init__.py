"""Claims on this node: who uses them, what drivers prepared for them, and the file that says so.

May live here: preparing, unpreparing, the checkpoint. May not: sockets, containers, health.
"""
