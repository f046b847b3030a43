"""What runs containers: local processes, a CRI runtime, or nothing at all for simulated nodes.

May live here: one sub-package or module per runtime behind the protocol of `runtime.py`. May not:
anything that knows Kubernetes' API beyond what a container's configuration says.
"""
