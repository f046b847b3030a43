"""The node agent: what a kubelet is to a cluster, for pods with devices.

May live here: plugins and their registration, preparing and unpreparing claims, device health, the
life of pods, runtimes that run their containers, the node's own object. May not: anything about
other nodes, scheduling, or a store; the agent knows the cluster through `dray.client` alone, and a
driver through gRPC (or an object with the same three methods) alone.
"""
