"""Collectives on RAMP: closed forms for who talks to whom, when and on which light."""
