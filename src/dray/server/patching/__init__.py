"""How a change meets an object: four kinds of patches, and who owns which field.

May live here: JSON patch, merge patch, strategic merge patch, server-side apply and its bookkeeping
(managedFields). All pure: dicts and lists in, new ones out, nothing modified, no clock.

Upstream counterparts: apimachinery's strategicpatch, structured-merge-diff, managedfields.
"""
