"""The pods that refer to a claim."""

from __future__ import annotations

from dray.api.core import Pod
from dray.controllers.claim_users import ClaimUsers, has_claims
from tests.unit.controllers.resource_claims.scene import Scene, on_scene, pod, template


@on_scene
async def test_pods_are_found_by_claims_they_name_and_claims_made_for_them(scene: Scene) -> None:
    users = ClaimUsers(scene.informers)
    await scene.client.create(template("t"))
    mine = await scene.add_claim("mine")
    web = await scene.add(pod("web", templates={"gpu": "t"}, claims={"nic": "mine"}))
    other = await scene.add(pod("other", claims={"nic": "mine"}))
    await scene.settle()
    made = await scene.claim_of(web)
    assert [each.metadata.name for each in users.of(made)] == ["web"]
    assert {each.metadata.name for each in users.of(mine)} == {"web", "other"}
    await scene.remove(other)
    assert {each.metadata.name for each in users.of(mine)} == {"web"}


def test_most_pods_have_no_claims() -> None:
    assert not has_claims(Pod())
    assert has_claims(pod("web", claims={"gpu": "mine"}))
