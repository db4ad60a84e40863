"""Feasibility and lower bounds, in exact arithmetic, owing the synthesiser nothing."""
