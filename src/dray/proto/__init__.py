"""The gRPC services between node agent, drivers and container runtimes, and their generated stubs.

May live here: .proto files and what `make proto` makes of them. May not: anything written by hand.
Packages, services, methods, field names and numbers are upstream's, so that both sides can be
anybody's.
"""
