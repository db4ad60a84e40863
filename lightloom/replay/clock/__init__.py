"""How schedules take time: one clock for circuits, one for packets."""
