"""What a request does: one verb per module.

May live here: verbs on stored objects. What only some kinds have (binding, eviction, scale, logs)
is in dray.server.subresources. May not: authentication, authorization, the wire.

Upstream counterpart: apiserver pkg/endpoints/handlers.
"""
