"""Data: what ranks hold, followed through a schedule on contribution counts."""
