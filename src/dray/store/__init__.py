"""Keys, bytes and revisions: the state of a cluster, kept so that nothing acknowledged is lost.

May live here: the store's face and its two implementations (SQLite and memory), the log of changes
that watches are served from, compaction, integrity checks, backup. May not: kinds, JSON, HTTP. A
value is bytes and a key is text; what they mean is the server's business.

Upstream counterpart: etcd, as far as an API server uses it.
"""
