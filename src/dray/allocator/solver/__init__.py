"""The search for the first solution in upstream's order, and all that shortens it.

What may live here: masks, integers and the walk over them. No names of nodes, pools or devices:
what is found is told in numbers, and others give them their names back. docs/designs/allocator.md
says why each shortcut is sound.
"""
