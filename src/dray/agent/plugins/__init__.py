"""Drivers as the node sees them: sockets that appear, registration, connections, their slices.

May live here: whatever knows sockets and gRPC of drivers. May not: claims, pods, health.
"""
