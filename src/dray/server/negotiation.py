"""In which form an answer goes out, and in which form a body came in.

An Accept header is a list of clauses, best first; each names an encoding and maybe a form of the
object (`as=Table`). The first clause that the endpoint can serve wins; one it cannot serve is
passed over, which is how `...;as=Table;...,application/json` degrades to the plain object. Protobuf
is read but never written: a client that takes nothing else gets a 406.

Departures from upstream: it lets some clauses win that it then refuses (a single object's metadata
of a list, YAML for a watch); here the next clause gets its chance. Upstream counterparts:
apiserver's pkg/endpoints/handlers/negotiation, goautoneg.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from dray.errors import NotAcceptable, StatusDetails, UnsupportedMediaType

__all__ = [
    "DISCOVERY",
    "DOCUMENTS",
    "LISTS",
    "OBJECTS",
    "WATCHES",
    "Encoding",
    "Form",
    "Media",
    "Offers",
    "PatchType",
    "body_encoding",
    "negotiate",
    "patch_type",
    "wants_pretty",
]

META_GROUP: Final = "meta.k8s.io"
DISCOVERY_GROUP: Final = "apidiscovery.k8s.io"

# Clients of one program all send the same header: a handful of texts covers a cluster. Longer
# ones than any real client sends are read anew each time, which bounds what is remembered.
REMEMBERED_HEADERS_MAX: Final = 512
REMEMBERED_CHARACTERS_MAX: Final = 1024

# More clauses than this nobody weighs; the rest of a hostile header is not read.
CLAUSES_MAX: Final = 64


class Encoding(Enum):
    """How a document is written down; the value is its media type."""

    JSON = "application/json"
    YAML = "application/yaml"
    PROTOBUF = "application/vnd.kubernetes.protobuf"  # bodies only


class Form(Enum):
    """What is shown of an object; the value is the kind that `as=` asks for."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"
    DISCOVERY = "APIGroupDiscoveryList"

    @property
    def group(self) -> str:
        return DISCOVERY_GROUP if self is Form.DISCOVERY else META_GROUP

    @property
    def versions(self) -> tuple[str, ...]:
        return ("v2", "v2beta1") if self is Form.DISCOVERY else ("v1", "v1beta1")


class PatchType(Enum):
    """What a patch body means; the value is its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Media:
    """The form of an answer."""

    encoding: Encoding = Encoding.JSON
    form: Form = Form.OBJECT
    version: str = ""  # of the form, unless it is OBJECT
    pretty: bool = False  # the clause itself asks for it

    @property
    def content_type(self) -> str:
        return self.encoding.value

    @property
    def api_version(self) -> str:
        """Of a Table or of metadata; empty for the object itself."""
        return f"{self.form.group}/{self.version}" if self.version else ""


@dataclass(frozen=True, eq=False)
class Offers:
    """What an endpoint can answer with, beside the object itself."""

    forms: frozenset[Form] = frozenset()
    stream: bool = False

    @property
    def encodings(self) -> tuple[Encoding, ...]:
        """Best first: what `*/*` gets. A stream of YAML documents has no framing."""
        return (Encoding.JSON,) if self.stream else (Encoding.JSON, Encoding.YAML)


OBJECTS: Final = Offers(frozenset({Form.TABLE, Form.METADATA}))
LISTS: Final = Offers(frozenset({Form.TABLE, Form.METADATA_LIST}))
WATCHES: Final = Offers(frozenset({Form.TABLE, Form.METADATA}), stream=True)
DISCOVERY: Final = Offers(frozenset({Form.DISCOVERY}))
DOCUMENTS: Final = Offers()


def negotiate(accept: str, offers: Offers = DOCUMENTS) -> Media:
    """The best form that the header takes and the endpoint has. Raises NotAcceptable."""
    if len(accept) <= REMEMBERED_CHARACTERS_MAX:
        media = _negotiate_remembered(accept, offers)
    else:
        media = _negotiate(accept, offers)
    if media is None:
        suffix = ";stream=watch" if offers.stream else ""
        accepted = ", ".join(encoding.value + suffix for encoding in offers.encodings)
        # Upstream refuses types it never heard of further out, where Statuses have details.
        heard_of = any(encoding.value in accept for encoding in Encoding)
        raise NotAcceptable(
            f"only the following media types are accepted: {accepted}",
            None if heard_of else StatusDetails(),
        )
    return media


def _negotiate(accept: str, offers: Offers) -> Media | None:
    if not accept:
        return Media()
    for clause in _clauses(accept):
        for encoding in offers.encodings:
            if clause.takes(encoding) and (media := _media(clause, encoding, offers)):
                return media
    return None


_negotiate_remembered: Final = lru_cache(maxsize=REMEMBERED_HEADERS_MAX)(_negotiate)


# Clauses ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Clause:
    type: str
    subtype: str
    quality: float
    parameters: Mapping[str, str]

    @property
    def rank(self) -> tuple[float, bool, bool]:
        return -self.quality, self.type == "*", self.subtype == "*"

    def takes(self, encoding: Encoding) -> bool:
        type_, _, subtype = encoding.value.partition("/")
        if self.subtype == "*":
            return self.type in ("*", type_)
        return (self.type, self.subtype) == (type_, subtype)


def _clauses(accept: str) -> list[_Clause]:
    """Those that can be read, best first; equals stay in the order they were written."""
    parts = accept.split(",", CLAUSES_MAX)[:CLAUSES_MAX]
    found = [clause for part in parts if (clause := _clause(part))]
    return sorted(found, key=lambda clause: clause.rank)


def _clause(text: str) -> _Clause | None:
    media_type, *parameters = (part.strip() for part in text.split(";"))
    type_, slash, subtype = (part.strip() for part in media_type.partition("/"))
    if not slash and type_ == "*":
        subtype = "*"
    if not subtype or "/" in subtype:
        return None
    found: dict[str, str] = {}
    quality = 1.0
    for parameter in parameters:
        name, _, value = (part.strip() for part in parameter.partition("="))
        if not value or "=" in value:
            continue
        if name == "q":
            quality = _quality(value)
        else:
            found[name] = value
    return _Clause(type_, subtype, quality, found)


def _quality(text: str) -> float:
    try:
        quality = float(text)
    except ValueError:
        return 0.0
    return quality if 0 <= quality <= 1 else 0.0


def _media(clause: _Clause, encoding: Encoding, offers: Offers) -> Media | None:
    """The form that the clause asks for, or None if the endpoint does not have it."""
    asked = clause.parameters
    if asked.get("stream", "watch" if offers.stream else "") != ("watch" if offers.stream else ""):
        return None
    if "sv" in asked:  # a version of the server's own choosing: never had any
        return None
    pretty = asked.get("pretty") == "1"
    if not asked.keys() & {"as", "g", "v"}:
        return Media(encoding, pretty=pretty)
    form = _FORMS.get(asked.get("as", ""))
    version = asked.get("v", "")
    if form not in offers.forms or asked.get("g") != form.group or version not in form.versions:
        return None
    return Media(encoding, form, version, pretty)


_FORMS: Final = {form.value: form for form in Form if form.value}


# Indentation -----------------------------------------------------------------------------------

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_READ_BY_PEOPLE: Final = ("curl", "Wget", "Mozilla/5.0")


def wants_pretty(media: Media, query: Mapping[str, Sequence[str]], user_agent: str) -> bool:
    """Whether JSON is to be indented: asked for, or read by a person who did not refuse."""
    if media.pretty:
        return True
    values = query.get("pretty")
    if values and values[0]:
        return values[0] in _TRUE
    return user_agent.startswith(_READ_BY_PEOPLE)


# Bodies ----------------------------------------------------------------------------------------

_UNKNOWN_FORMAT: Final = (
    "the body of the request was in an unknown format - accepted media types include: {}"
)
_ENCODINGS: Final = {encoding.value: encoding for encoding in Encoding}
_PATCH_TYPES: Final = {kind.value: kind for kind in PatchType}


def body_encoding(content_type: str) -> Encoding:
    """How an object or options in a body are written; without a type they are JSON.

    Parameters, such as a charset, are ignored: the body is UTF-8 or it is refused by its decoder.
    Raises UnsupportedMediaType.
    """
    encoding = _ENCODINGS.get(content_type)  # nearly always as plain as this
    if encoding is not None:
        return encoding
    if not content_type:
        return Encoding.JSON
    encoding = _ENCODINGS.get(_media_type(content_type))
    if encoding is None:
        raise UnsupportedMediaType(_UNKNOWN_FORMAT.format(", ".join(_ENCODINGS)))
    return encoding


def patch_type(content_type: str, *, strategic: bool = True) -> PatchType:
    """What the body of a PATCH is; it always has to say. Raises UnsupportedMediaType.

    Custom resources take no strategic merge: nothing declares how their lists merge.
    """
    kind = _PATCH_TYPES.get(_media_type(content_type))
    if kind is None or (kind is PatchType.STRATEGIC and not strategic):
        types = [kind.value for kind in PatchType if strategic or kind is not PatchType.STRATEGIC]
        told = _UNKNOWN_FORMAT.format(", ".join(types))
        raise UnsupportedMediaType(told, StatusDetails() if strategic else None)
    return kind


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
