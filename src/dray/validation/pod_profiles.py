"""Annotations for seccomp and AppArmor that fields have replaced, and that may not contradict them.

Upstream counterparts: ValidateSeccompPodAnnotations, ValidateAppArmorPodAnnotations and
validateSeccompAnnotationsAndFields in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api.carried import read_part
from dray.api.core import PodSpec
from dray.api.core.parts import (
    AppArmorProfile,
    PodSecurityContext,
    SeccompProfile,
    SecurityContext,
)
from dray.errors import quote
from dray.validation.file_paths import check_relative_path
from dray.validation.findings import Findings
from dray.validation.pod_visits import containers_of

__all__ = [
    "APP_ARMOR_PREFIX",
    "SECCOMP_CONTAINER_PREFIX",
    "SECCOMP_POD_KEY",
    "check_profile_annotations",
    "check_profiles_agree",
]

SECCOMP_POD_KEY: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER_PREFIX: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"

_LOCALHOST: Final = "localhost/"
_SECCOMP_PROFILES: Final[Mapping[str, tuple[str, ...]]] = {
    "Unconfined": ("unconfined",),
    "RuntimeDefault": ("runtime/default", "docker/default"),
}
_APP_ARMOR_PROFILES: Final[Mapping[str, tuple[str, ...]]] = {
    "Unconfined": ("unconfined",),
    "RuntimeDefault": ("runtime/default",),
}
_PLAIN_SECCOMP: Final = ("runtime/default", "docker/default", "unconfined")
_PLAIN_APP_ARMOR: Final = ("", "runtime/default", "unconfined")


def check_profile_annotations(
    found: Findings, annotations: Mapping[str, str], spec: PodSpec, path: str
) -> None:
    """What the annotations say by themselves."""
    if SECCOMP_POD_KEY in annotations:
        _check_seccomp(found, annotations[SECCOMP_POD_KEY], f"{path}.{SECCOMP_POD_KEY}")
    for key in sorted(annotations):
        if key.startswith(SECCOMP_CONTAINER_PREFIX):
            _check_seccomp(found, annotations[key], f"{path}.{key}")
    for key in sorted(annotations):
        if key.startswith(APP_ARMOR_PREFIX):
            _check_app_armor(found, key, annotations[key], spec, f"{path}[{key}]")


def _check_seccomp(found: Findings, profile: str, path: str) -> None:
    if profile in _PLAIN_SECCOMP:
        return
    if profile.startswith(_LOCALHOST):
        check_relative_path(found, profile.removeprefix(_LOCALHOST), path)
    else:
        found.invalid(path, profile, "must be a valid seccomp profile")


def _check_app_armor(found: Findings, key: str, profile: str, spec: PodSpec, path: str) -> None:
    name = key.removeprefix(APP_ARMOR_PREFIX)
    if all(container.name != name for container, _ in containers_of(spec, "")):
        found.invalid(path, name, "container not found")
    if profile not in _PLAIN_APP_ARMOR and not profile.startswith(_LOCALHOST):
        found.invalid(path, profile, f"invalid AppArmor profile name: {quote(profile)}")


def check_profiles_agree(
    found: Findings, annotations: Mapping[str, str], spec: PodSpec, path: str
) -> None:
    """That an annotation and the field that replaced it say the same, where both say something."""
    if not any(key.startswith(_PREFIXES) for key in annotations):
        return
    context = read_part(spec.security_context, PodSecurityContext)
    own = {
        at: (container.name, read_part(container.security_context, SecurityContext))
        for container, at in containers_of(spec, path)
    }
    annotation = annotations.get(SECCOMP_POD_KEY)
    if context is not None and annotation is not None:
        at = f"{path}.securityContext.seccompProfile"
        _check_match(found, context.seccomp_profile, annotation, _SECCOMP_PROFILES, at)
    for at, (name, security) in own.items():
        annotation = annotations.get(f"{SECCOMP_CONTAINER_PREFIX}{name}")
        if security is not None and annotation is not None:
            where = f"{at}.securityContext.seccompProfile"
            _check_match(found, security.seccomp_profile, annotation, _SECCOMP_PROFILES, where)
    if spec.os is not None and spec.os.name == "windows":
        return
    shared = context.app_armor_profile if context is not None else None
    for at, (name, security) in own.items():
        profile = (security.app_armor_profile if security is not None else None) or shared
        annotation = annotations.get(f"{APP_ARMOR_PREFIX}{name}")
        if annotation is not None:
            where = f"{at}.securityContext.appArmorProfile"
            _check_match(found, profile, annotation, _APP_ARMOR_PROFILES, where)


_PREFIXES: Final = (SECCOMP_POD_KEY, SECCOMP_CONTAINER_PREFIX, APP_ARMOR_PREFIX)


def _check_match(
    found: Findings,
    profile: SeccompProfile | AppArmorProfile | None,
    annotation: str,
    meanings: Mapping[str, tuple[str, ...]],
    path: str,
) -> None:
    if profile is None:
        return
    title = "seccomp" if meanings is _SECCOMP_PROFILES else "apparmor"
    if profile.type == "Localhost":
        if not annotation.startswith(_LOCALHOST):
            detail = f"{title} type in annotation and field must match"
            found.forbidden(f"{path}.type", detail)
        elif annotation.removeprefix(_LOCALHOST) != profile.localhost_profile:
            detail = f"{title} profile in annotation and field must match"
            found.forbidden(f"{path}.localhostProfile", detail)
    elif profile.type in meanings and annotation not in meanings[profile.type]:
        found.forbidden(f"{path}.type", f"{title} type in annotation and field must match")
