"""What a node counts."""

from __future__ import annotations

from dray.agent.metrics import DURATION_BUCKETS, AgentMetrics


def test_buckets_are_upstreams() -> None:
    assert len(DURATION_BUCKETS) == 15
    assert (DURATION_BUCKETS[0], DURATION_BUCKETS[-1]) == (0.1, 40.0)


def test_names_and_labels_are_upstreams() -> None:
    metrics = AgentMetrics()
    metrics.observe_call("gpu.example.com", "P", "OK", 0.2)
    metrics.operation("PrepareResources", 0.3, is_error=True)
    metrics.skipped("NodePrepareResources", "gpu.example.com")
    metrics.skipped("NodeUnprepareResources", "net.example.com")
    text = metrics.text(
        claims_in_use={"<any>": 2, "gpu.example.com": 2},
        device_health=[("gpu.example.com", "Healthy"), ("gpu.example.com", "Healthy")],
        pods_count=3,
    ).decode()
    call = 'driver_name="gpu.example.com",method_name="P",grpc_status_code="OK"'
    operation = 'operation_name="PrepareResources",is_error="true"'
    for line in (
        f"dra_grpc_operations_duration_seconds_count{{{call}}} 1",
        f"dra_operations_duration_seconds_count{{{operation}}} 1",
        'dra_resource_claims_in_use{driver_name="<any>"} 2',
        'dra_node_prepare_skips_total{driver_name="gpu.example.com"} 1',
        'dra_node_unprepare_skips_total{driver_name="net.example.com"} 1',
        'dray_node_devices{driver_name="gpu.example.com",health="Healthy"} 2',
        "dray_node_pods 3",
    ):
        assert line in text.splitlines()
