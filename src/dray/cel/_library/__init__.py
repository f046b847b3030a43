"""What the functions of device expressions do, one library or family per module.

A module's FUNCTIONS has its implementations by CEL name and by the Python type of the first
argument (what a member function is called on). An implementation takes the values, checks those
after the first itself, and answers a value or raises a Failure. What lives here is pure and knows
nothing of trees, costs or devices.
"""
