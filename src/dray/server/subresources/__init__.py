"""What only some kinds have: actions on an object, and parts of it with a path of their own.

May live here: one module per subresource. `status` is not among them: every kind that has one
treats it alike, so the verbs do it.

Upstream counterpart: the extra storages of pkg/registry/core/pod/storage and their like.
"""
