"""All a driver author imports: a driver is a class that finds devices and makes them usable.

May live here: registration and services, claims, the journal, CDI files, slices, health. May not:
anything of the agent or the server; a driver talks to any kubelet and any API server. Importing it
needs gRPC, protobuf, msgspec and an HTTP parser, and nothing else.
"""
