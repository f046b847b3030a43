"""Why claims do not fit, and what would help.

What may live here: counting what was wrong with devices and requests, from the same problem that
the search worked on; trying changes with the same search; and the words for both. Nothing here
decides who gets a device.
"""
