"""authorization.k8s.io/v1: whether somebody may. Questions: posted, answered, never stored.

Upstream counterpart: k8s.io/api/authorization/v1.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from dray.api.meta import LabelSelectorRequirement, Object
from dray.api.wire import Struct, always

__all__ = [
    "FieldSelectorAttributes",
    "FieldSelectorRequirement",
    "LabelSelectorAttributes",
    "LocalSubjectAccessReview",
    "NonResourceAttributes",
    "NonResourceRule",
    "ResourceAttributes",
    "ResourceRule",
    "SelfSubjectAccessReview",
    "SelfSubjectAccessReviewSpec",
    "SelfSubjectRulesReview",
    "SelfSubjectRulesReviewSpec",
    "SubjectAccessReview",
    "SubjectAccessReviewSpec",
    "SubjectAccessReviewStatus",
    "SubjectRulesReviewStatus",
]


# May this one do that? ---------------------------------------------------------------------------


class FieldSelectorRequirement(Struct):
    """One clause of a field selector, taken apart."""

    key: str = always("")
    operator: str = always("")
    values: tuple[str, ...] = ()


class FieldSelectorAttributes(Struct):
    """The field selector of the request asked about, as text or taken apart."""

    raw_selector: str = ""
    requirements: tuple[FieldSelectorRequirement, ...] = ()


class LabelSelectorAttributes(Struct):
    """The label selector of the request asked about, as text or taken apart."""

    raw_selector: str = ""
    requirements: tuple[LabelSelectorRequirement, ...] = ()


class ResourceAttributes(Struct):
    """A request for a resource."""

    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    field_selector: FieldSelectorAttributes | None = None
    label_selector: LabelSelectorAttributes | None = None


class NonResourceAttributes(Struct):
    """A request for a path that is no resource."""

    path: str = ""
    verb: str = ""


class SubjectAccessReviewSpec(Struct):
    """Who, and which request."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uid: str = ""


class SelfSubjectAccessReviewSpec(Struct):
    """Which request; the asker is meant."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class SubjectAccessReviewStatus(Struct):
    """The verdict: allowed, denied outright, or neither."""

    allowed: bool = always(False)
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class SubjectAccessReview(Object):
    """Asks whether somebody may make a request."""

    api_version: str = always("authorization.k8s.io/v1")
    kind: str = always("SubjectAccessReview")
    spec: SubjectAccessReviewSpec = always(SubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus = always(SubjectAccessReviewStatus)


class LocalSubjectAccessReview(Object):
    """Whether somebody may do something in one namespace, its own."""

    api_version: str = always("authorization.k8s.io/v1")
    kind: str = always("LocalSubjectAccessReview")
    spec: SubjectAccessReviewSpec = always(SubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus = always(SubjectAccessReviewStatus)


class SelfSubjectAccessReview(Object):
    """Asks whether the asker may make a request."""

    api_version: str = always("authorization.k8s.io/v1")
    kind: str = always("SelfSubjectAccessReview")
    spec: SelfSubjectAccessReviewSpec = always(SelfSubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus = always(SubjectAccessReviewStatus)


# What may this one do? ---------------------------------------------------------------------------


class ResourceRule(Struct):
    """Verbs on resources."""

    verbs: tuple[str, ...] | None = always(None)
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()


class NonResourceRule(Struct):
    """Verbs on paths that are no resource."""

    verbs: tuple[str, ...] | None = always(None)
    non_resource_urls: tuple[str, ...] = field(default=(), name="nonResourceURLs")


class SelfSubjectRulesReviewSpec(Struct):
    """The namespace asked about."""

    namespace: str = ""


class SubjectRulesReviewStatus(Struct):
    """All that is known to be allowed; incomplete if some authorizer cannot list its rules."""

    resource_rules: tuple[ResourceRule, ...] | None = always(None)
    non_resource_rules: tuple[NonResourceRule, ...] | None = always(None)
    incomplete: bool = always(False)
    evaluation_error: str = ""


class SelfSubjectRulesReview(Object):
    """Asks all that the asker may do in a namespace."""

    api_version: str = always("authorization.k8s.io/v1")
    kind: str = always("SelfSubjectRulesReview")
    spec: SelfSubjectRulesReviewSpec = always(SelfSubjectRulesReviewSpec)
    status: SubjectRulesReviewStatus = always(SubjectRulesReviewStatus)
