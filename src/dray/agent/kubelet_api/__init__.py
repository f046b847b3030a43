"""What a node serves over HTTPS: logs of its containers, sessions inside them, and what it runs.

May live here: the endpoints the API server asks a node for, and reading logs. May not: deciding
anything about pods. Upstream counterpart: pkg/kubelet/server.
"""
