"""The ledger of rules for programs of GPUs, and which file checks each."""

from __future__ import annotations

PROGRAM_RULES: dict[str, tuple[str, str]] = {
    "program-ranks": ("Ranks and thread blocks are numbered 0, 1, 2, ...", "form"),
    "program-operation": ("The runtime knows the operation.", "form"),
    "program-attributes": (
        "All attributes the runtime wants are given, with values that it takes.",
        "form",
    ),
    "program-text": ("The text is what loaders scan, who read no general XML.", "form"),
    "program-chunks": ("Buffers have the sizes the operation asks for.", "form"),
    "program-peer": (
        "Peers exist, are another rank, and are there where messages are.",
        "form",
    ),
    "program-connection": (
        "One thread block of a GPU sends on a channel, and one receives, or takes.",
        "form",
    ),
    "program-offset": ("No step reads or writes beyond its buffer.", "form"),
    "program-reference": (
        "A step waits for one that exists, of another thread block or before it.",
        "form",
    ),
    "program-chain": (
        "The step behind a nop that waits for something has a depid of its own.",
        "form",
    ),
    "program-awaited": ("What is waited for is marked with hasdep.", "form"),
    "program-limit": ("The limits of the runtime are kept.", "limits"),
    "program-deadlock": (
        "Every step runs, if messages never have to wait.",
        "execution",
    ),
    "program-message": (
        "A message is received with the count it was sent.",
        "execution",
    ),
    "program-unread": ("Every message is received.", "execution"),
    "program-value": (
        "Nothing is read before it is written, or added twice.",
        "values",
    ),
    "program-result": ("In the end every output holds what it must.", "values"),
    "program-vacuous": (
        "The program may be chosen, and is about all ranks and all data.",
        "form",
    ),
    "program-race": (
        "Accesses to the same chunk are ordered, unless both only read.",
        "races",
    ),
    "program-fifo": (
        "No size the program may be chosen for fills connections until all wait.",
        "fifos",
    ),
}
"""Each rule with its sentence and the module of this folder that checks it."""
