"""The life of pods: from assigned to this node to gone, one worker per pod, over any runtime.

May live here: what a pod needs next, environment, probes, restarts, status. May not: how a runtime
starts a container, how a claim is prepared.
"""
