"""How many labels, and how small an error: planned by simulation before labels are paid for."""
