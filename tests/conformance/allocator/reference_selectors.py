"""What expressions say about devices: selectors, and derived attributes.

Nothing is evaluated before the search asks for it, because an error ends the whole attempt:
what is never asked never fails. Answers are kept, as upstream keeps them; they cannot change.

Upstream counterpart: isSelectable, selectorsMatch and lookupAttribute in
allocator_experimental.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from dray.api.resource import DeviceAttribute, DeviceClass, DeviceSelector
from dray.cel import (
    DerivedAttribute,
    DeviceView,
    Environment,
    Selector,
    compile_derived_attribute,
    compile_selector,
)
from dray.errors import CELError
from tests.conformance.allocator.reference_model import Case, Offer, Refusal, display_name
from tests.conformance.allocator.reference_nodes import SelectorError
from tests.conformance.allocator.reference_pools import device_matches_node

__all__ = ["Selectors"]

_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check"
    " with has() for optional fields"
)


class Selectors:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._environment = Environment(
            stored=True,
            consumable_capacity=case.features.consumable_capacity,
            list_type_attributes=case.features.list_type_attributes,
        )
        self._views: dict[Offer, DeviceView] = {}
        self._compiled: dict[str, Selector] = {}
        self._matches: dict[tuple[Offer, str], bool] = {}

    def select(
        self,
        offer: Offer,
        claim_index: int,
        device_class: DeviceClass,
        selectors: Sequence[DeviceSelector],
    ) -> bool:
        """Whether the device is of the class, meets the request and can be used on the node."""
        if offer.device.binding_conditions and not self._case.features.binding_conditions:
            return False
        claim = f"claim {display_name(self._case.claims[claim_index].metadata)}"
        if not self._match(
            offer, f"class {device_class.metadata.name}", device_class.spec.selectors
        ):
            return False
        if not self._match(offer, claim, selectors):
            return False
        if not offer.slice.api.spec.per_device_node_selection:
            return True
        try:
            return device_matches_node(offer.device, self._case)
        except SelectorError as error:
            raise Refusal(str(error)) from None

    def derive(self, offer: Offer, name: str, expression: str) -> DeviceAttribute:
        compilation = compile_derived_attribute(expression, self._environment)
        if compilation.error is not None:
            raise Refusal(f"compile derived attribute {name} failed: {compilation.error.detail}")
        try:
            return DerivedAttribute(compilation).evaluate(self._view(offer))[0]
        except CELError as error:
            raise Refusal(
                f"evaluate derived attribute {name} on device {offer.key} failed: {error.message}"
            ) from None

    def _match(self, offer: Offer, origin: str, selectors: Sequence[DeviceSelector]) -> bool:
        for number, selector in enumerate(selectors):
            # A class without an expression would crash upstream; validation requires one.
            expression = "" if selector.cel is None else selector.cel.expression
            if not self._evaluate(offer, f"{origin}: selector #{number}", expression):
                return False
        return True

    def _evaluate(self, offer: Offer, origin: str, expression: str) -> bool:
        if (offer, expression) in self._matches:
            return self._matches[offer, expression]
        if expression not in self._compiled:
            compilation = compile_selector(expression, self._environment)
            if compilation.error is not None:
                raise Refusal(f"{origin}: CEL compile error: {compilation.error.detail}")
            self._compiled[expression] = Selector(compilation)
        try:
            matches = self._compiled[expression].matches_exactly(self._view(offer))
        except CELError as error:
            hint = _HINT if "no such key:" in error.message else ""
            raise Refusal(
                f"{origin} on device {offer.key}: CEL runtime error: {error.message}{hint}"
            ) from None
        self._matches[offer, expression] = matches
        return matches

    def _view(self, offer: Offer) -> DeviceView:
        if offer not in self._views:
            self._views[offer] = DeviceView.of(offer.key.driver, offer.device)
        return self._views[offer]
