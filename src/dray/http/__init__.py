"""HTTP/1.1 over TLS: from bytes on a socket to a Request, and from a Response to bytes.

May live here: connections, limits and deadlines of reading and writing, TLS, websockets, clean
shutdown. May not: anything that knows Kubernetes; the handler does.
"""
