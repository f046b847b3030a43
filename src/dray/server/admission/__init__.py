"""What is allowed of an object beyond its own rules, and what is filled in from other objects.

May live here: one plugin per module, and the chain they form. May not: rules that need only the
object itself (dray.validation), authorization (dray.server.auth).

Upstream counterpart: the admission plugins of kube-apiserver.
"""
