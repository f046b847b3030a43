"""Watches: events from the store to many clients, each encoded once.

May live here: the lines of a watch, the lanes in which clients with equal interests share them, and
what keeps a watch in order (bookmarks, deadlines, slow clients). May not: how a watch is asked for.

Upstream counterpart: apiserver pkg/storage/cacher.
"""
