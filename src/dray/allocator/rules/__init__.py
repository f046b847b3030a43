"""What decides about one device, or about devices one by one: taints, capacity, constraints, nodes.

What may live here: upstream's rules as plain functions and small states, with their texts. No
search, no pools, nothing that knows more than its arguments.
"""
