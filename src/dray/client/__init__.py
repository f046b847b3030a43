"""The Kubernetes API as a client sees it: typed objects in, typed objects out.

May live here: the client, its transports, kubeconfig, informers, the recorder of events. May not:
anything that knows what objects mean. Works with any API server, and with one in the same process.
"""
