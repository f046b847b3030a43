"""Kinds that users define: from a CustomResourceDefinition to objects that are served.

May live here: the schema of a custom kind and everything it asks of objects (pruning, defaults,
rules), the model that serves them, and what keeps the registry in step with the definitions. May
not: what any kind does.

Upstream counterpart: apiextensions-apiserver.
"""
