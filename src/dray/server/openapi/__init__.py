"""What there is to ask for, as OpenAPI documents (v2 and v3), made from schemas.

Upstream counterpart: kube-openapi.
"""
