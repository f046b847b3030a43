"""The node's own objects: the Node, its conditions and heartbeats, its Lease.

May live here: what the agent says of its machine. May not: pods and devices.
"""
