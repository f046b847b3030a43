"""Empties namespaces that are being deleted.

May live here: finding and deleting what is in a namespace, saying what is left, and letting go of
it. Upstream counterpart: pkg/controller/namespace.
"""

from __future__ import annotations
