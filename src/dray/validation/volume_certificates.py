"""Certificates in projected volumes: bundles to trust, and the pod's own.

Upstream counterparts: validateProjectionSources and names.go in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api import names
from dray.api.core.parts import ClusterTrustBundleProjection, PodCertificateProjection
from dray.errors import quote
from dray.validation.file_paths import check_local_path
from dray.validation.findings import Findings
from dray.validation.meta import ANNOTATIONS_BYTES_MAX, validate_label_selector
from dray.validation.rules import byte_length
from dray.validation.shown import as_internal, as_wire
from dray.validation.user_ids import check_user_id

__all__ = ["check_pod_certificate", "check_signer_name", "check_trust_bundle"]

# A domain, a slash, a namespace, a dot, a name.
SIGNER_NAME_BYTES_MAX: Final = 253 + 1 + 63 + 1 + 253

EXPIRATION_SECONDS_MIN: Final = 3600
EXPIRATION_SECONDS_MAX: Final = 91 * 24 * 3600
# The cluster's own signers renew daily.
KUBERNETES_EXPIRATION_SECONDS_MAX: Final = 24 * 3600

_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")


def check_trust_bundle(found: Findings, bundle: ClusterTrustBundleProjection, path: str) -> None:
    if bundle.name is not None and bundle.signer_name is not None:
        found.invalid(path, as_internal(bundle), "only one of name and signerName may be used")
    elif bundle.name is not None:
        _check_bundle_name(found, bundle.name, f"{path}.name")
        if bundle.label_selector is not None:
            found.invalid(
                f"{path}.labelSelector",
                as_wire(bundle.label_selector),
                "labelSelector must be unset if name is specified",
            )
    elif bundle.signer_name is not None:
        at = f"{path}.signerName"
        if not bundle.signer_name:
            found.required(at, "must be a valid signer name")
        check_signer_name(found, bundle.signer_name, at)
        found.extend(validate_label_selector(bundle.label_selector, f"{path}.labelSelector"))
    else:
        found.required(path, "either name or signerName must be specified")
    if not bundle.path:
        found.required(f"{path}.path")
    check_user_id(found, bundle.user, f"{path}.user")
    check_local_path(found, bundle.path, f"{path}.path")


def _check_bundle_name(found: Findings, name: str, path: str) -> None:
    if not name:
        found.required(path, "must be a valid object name")
    # Before the last colon is the signer, whose slashes have become colons.
    signer, colon, rest = name.rpartition(":")
    messages = names.dns_subdomain(rest if colon and signer else name)
    if colon and not signer:
        messages = ('ClusterTrustBundle without signer name must not have ":" in its name',)
    for message in messages:
        found.invalid(path, name, f"not a valid clustertrustbundlename: {message}")


def check_signer_name(found: Findings, signer: str, path: str) -> None:
    """A domain and a path below it."""
    if not signer:
        found.required(path)
        return
    segments = signer.split("/")
    if len(segments) != 2:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        found.invalid(path, signer, detail)
        return
    domain, rest = segments
    if byte_length(domain) > names.DNS_SUBDOMAIN_BYTES_MAX:
        found.too_long(path, names.DNS_SUBDOMAIN_BYTES_MAX)
    labels = domain.split(".")
    _check_labels(found, domain, {label: names.dns_label(label) for label in labels}, path)
    if len(labels) < 2:
        detail = "should be a domain with at least two segments separated by dots"
        found.invalid(path, domain, detail)
    parts = rest.split(".")
    _check_labels(found, rest, {part: names.dns_subdomain(part) for part in parts}, path)
    if byte_length(signer) > SIGNER_NAME_BYTES_MAX:
        found.too_long(path, SIGNER_NAME_BYTES_MAX)


def _check_labels(
    found: Findings, shown: str, verdicts: Mapping[str, names.Messages], path: str
) -> None:
    """The first label that is wrong; more of the same would help nobody."""
    for label, messages in verdicts.items():
        for message in messages:
            found.invalid(path, shown, f"validating label {quote(label)}: {message}")
        if messages:
            return


def check_pod_certificate(
    found: Findings, certificate: PodCertificateProjection, path: str
) -> None:
    """All but its files, which share a directory with others."""
    check_signer_name(found, certificate.signer_name, f"{path}.signerName")
    _check_annotations(found, certificate.user_annotations, f"{path}.userAnnotations")
    check_user_id(found, certificate.user, f"{path}.user")
    if certificate.key_type not in _KEY_TYPES:
        found.not_supported(f"{path}.keyType", certificate.key_type, _KEY_TYPES)
    seconds = certificate.max_expiration_seconds
    if seconds is None:
        return
    at = f"{path}.maxExpirationSeconds"
    if seconds < EXPIRATION_SECONDS_MIN:
        detail = f"if provided, maxExpirationSeconds must be >= {EXPIRATION_SECONDS_MIN}"
        found.invalid(at, seconds, detail)
    seconds_max = EXPIRATION_SECONDS_MAX
    domain = certificate.signer_name.partition("/")[0]
    if f".{domain}".endswith(".kubernetes.io"):
        seconds_max = KUBERNETES_EXPIRATION_SECONDS_MAX
    if seconds > seconds_max:
        found.invalid(at, seconds, f"if provided, maxExpirationSeconds must be <= {seconds_max}")


def _check_annotations(found: Findings, annotations: Mapping[str, str], path: str) -> None:
    for key in sorted(annotations):
        small = key.lower()
        if not small:
            found.required(path)
            continue
        messages = names.label_key(small)
        for message in messages:
            found.invalid(path, small, message)
        if messages:
            continue
        if "/" not in small:
            found.invalid(path, small, 'must be a domain-prefixed key (such as "acme.io/foo")')
    size = sum(byte_length(key) + byte_length(value) for key, value in annotations.items())
    if size > ANNOTATIONS_BYTES_MAX:
        found.too_long(path, ANNOTATIONS_BYTES_MAX)
