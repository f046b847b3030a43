from __future__ import annotations

from pathlib import Path
from typing import Any

from dray.cli.explain_answer import Hint
from dray.cli.explain_hints import selector_hints

from .explain_dumps import claim, device_class, gpus, load, request

A = 'device.attributes["gpu.example.com"]'


def hints(tmp_path: Path, *objects: dict[str, Any]) -> list[Hint]:
    snapshot = load(tmp_path, list(objects))
    return list(selector_hints(snapshot, snapshot.claims.values()))


def nic() -> dict[str, Any]:
    one = gpus("nic", 1)
    one["spec"] |= {"driver": "nic.example.com", "devices": [{"name": "eth0"}]}
    return one


def test_a_name_that_no_device_has_is_told_with_the_one_that_is_meant(tmp_path: Path) -> None:
    wrong = claim("c", request(selector=f'{A}.?modle.orValue("") == "H100"'))
    (hint,) = hints(tmp_path, device_class(), gpus("a", 2), wrong)
    assert hint.where == "request gpu of claim ml/c"
    assert "did you mean" in hint.text
    assert hint.expression == f'{A}.?model.orValue("") == "H100"'


def test_a_selector_sees_what_its_class_lets_through(tmp_path: Path) -> None:
    right = claim("c", request(selector=f'{A}.model == "H100"'))
    assert hints(tmp_path, device_class(), gpus("a", 2), nic(), right) == []


def test_a_class_may_be_wrong_itself(tmp_path: Path) -> None:
    selector = {"cel": {"expression": f'{A}.model == "H100"'}}
    found = hints(tmp_path, device_class(selectors=[selector]), gpus("a", 1), nic(), claim("c"))
    assert {one.where for one in found} == {"class gpu"}


def test_what_a_selector_lets_through_is_what_the_next_one_sees(tmp_path: Path) -> None:
    mine = claim("c", request(selector=f"has({A}.model)"))
    mine["spec"]["devices"]["requests"][0]["exactly"]["selectors"].append(
        {"cel": {"expression": f'{A}.model == "H100"'}}
    )
    bare = gpus("bare", 1)
    del bare["spec"]["devices"][0]["attributes"]
    assert hints(tmp_path, device_class(), gpus("a", 1), bare, mine) == []


def test_a_rare_device_counts_among_thousands_of_others(tmp_path: Path) -> None:
    rare = gpus("z", 1)
    rare["spec"]["devices"][0]["attributes"]["modle"] = {"string": "H100"}
    mine = claim("c", request(selector=f'{A}.?modle.orValue("") == "H100"'))
    common = [gpus(f"n{number}", 8) for number in range(100)]
    assert hints(tmp_path, device_class(), *common, rare, mine) == []


def test_alternatives_are_looked_at_and_what_does_not_compile_is_not(tmp_path: Path) -> None:
    listed = claim("c", {"name": "r", "firstAvailable": []})
    for name, expression in (("broken", "1 +"), ("typo", f'{A}.?modle.orValue("") == "H100"')):
        one = {"name": name, **request(selector=expression)["exactly"]}
        listed["spec"]["devices"]["requests"][0]["firstAvailable"].append(one)
    (hint,) = hints(tmp_path, device_class(), gpus("a", 1), listed)
    assert hint.where == "request r/typo of claim ml/c"


def test_the_same_mistake_is_told_once(tmp_path: Path) -> None:
    wrong = f'{A}.?modle.orValue("") == "H100"'
    mine = claim("c", request("a", wrong), request("b", wrong), request("c", f"{wrong} && true"))
    assert len(hints(tmp_path, device_class(), gpus("a", 1), mine)) == 1
