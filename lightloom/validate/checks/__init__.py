"""One check per rule, on a schedule and its circuits, steps and claims."""
