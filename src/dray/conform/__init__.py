"""A test kit for drivers in any language: it plays the kubelet, and the cluster behind it.

May live here: an API server for the driver under test, a kubelet's half of the sockets, checks and
the report of what they found. May not: anything that knows which driver it is looking at.
"""
