"""YAML as Kubernetes means it: text to the JSON values that kubectl would send.

May live here: composing values within bounds, what scalars mean, where values stood in the text.
May not: files, streams of several documents (dray.cli.manifests). Needs PyYAML, which only whoever
reads YAML installs.

Upstream counterpart: sigs.k8s.io/yaml.
"""
