"""What drivers say of their devices' health, what the agent believes, and what pods get to see.

May live here: streams, the cache, its file, the entries of container statuses. May not: reactions.
"""
