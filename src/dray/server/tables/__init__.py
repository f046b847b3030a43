"""Objects as rows: what `kubectl get` shows.

May live here: columns and cells, one module per group of kinds, and the Table document.

Upstream counterpart: kubernetes pkg/printers/internalversion.
"""
