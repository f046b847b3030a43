"""Where objects of a kind are found on a server: the paths of its API, in each version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dray.api import authentication, authorization, scheme
from dray.api.meta import Object
from dray.api.scheme import Kind, Version
from dray.errors import BadRequest, ConfigurationError, quote

__all__ = ["add_resource", "check_name", "namespace_for", "path_of", "resource_of"]


def resource_of(type_: type[Any]) -> Kind:
    """The kind that a type stands for. Raises ConfigurationError for one that has no path."""
    kind = _BY_TYPE.get(type_)
    if kind is None:
        raise ConfigurationError(
            f"{type_.__module__}.{type_.__qualname__} is no kind that a client can ask for: "
            "it takes the types of dray.api in the newest version of each"
        )
    return kind


def add_resource(type_: type[Any], kind: Kind) -> None:
    """Have a type stand for a kind that the scheme does not know."""
    _BY_TYPE[type_] = kind


def path_of(
    kind: Kind, version: Version, *, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """The path of a collection, an object or one of its subresources, not escaped."""
    root = f"/apis/{kind.group}/{version.name}" if kind.group else f"/api/{version.name}"
    path = f"{root}/namespaces/{namespace}/{kind.plural}" if namespace else f"{root}/{kind.plural}"
    if name:
        path = f"{path}/{name}"
    return f"{path}/{subresource}" if subresource else path


def namespace_for(kind: Kind, namespace: str, *, required: bool) -> str:
    """The namespace as it goes into a path. Raises BadRequest where one is missing."""
    if not kind.namespaced:
        return ""
    if namespace:
        _check_segment("namespace", namespace)
    elif required:
        raise BadRequest(f"{_article(kind.name)} is in a namespace: say which one")
    return namespace


def check_name(kind: Kind, name: str) -> None:
    """Refuse what is no name, and what would make a path lead elsewhere. Raises BadRequest."""
    if not name:
        raise BadRequest(f"{_article(kind.name)} has a name: say which one")
    _check_segment("name", name)


def _check_segment(noun: str, value: str) -> None:
    if value in (".", "..") or "/" in value or "%" in value:
        raise BadRequest(f'{noun} {quote(value)}: may not be "." or "..", nor contain "/" or "%"')


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _review(type_: type[Object], plural: str, *, namespaced: bool = False) -> Kind:
    """A kind that is asked, not stored: scheme does not have it."""
    group, _, version = type_().api_version.rpartition("/")
    return Kind(group, type_.__name__, plural, namespaced, (Version(version, type_),))


def _kinds() -> Iterator[Kind]:
    yield from scheme.kinds()
    yield _review(authentication.TokenReview, "tokenreviews")
    yield _review(authentication.SelfSubjectReview, "selfsubjectreviews")
    yield _review(authorization.SubjectAccessReview, "subjectaccessreviews")
    yield _review(authorization.SelfSubjectAccessReview, "selfsubjectaccessreviews")
    yield _review(authorization.SelfSubjectRulesReview, "selfsubjectrulesreviews")
    yield _review(
        authorization.LocalSubjectAccessReview, "localsubjectaccessreviews", namespaced=True
    )


_BY_TYPE: Final[dict[type[Any], Kind]] = {kind.hub.type: kind for kind in _kinds()}
