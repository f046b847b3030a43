"""Who is asking, and whether they may.

May live here: authenticators (certificates, tokens), authorizers (RBAC, nodes), the default roles,
the review APIs' answers, service-account tokens. May not: admission.

Upstream counterparts: apiserver pkg/authentication and pkg/authorization, plugin/pkg/auth.
"""
