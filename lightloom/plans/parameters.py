"""Types of the parameters that algorithms share, each with what users are told."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MOST = 2**20

Count = Annotated[int, Meta(ge=1, le=MOST)]
Radix = Annotated[int, Meta(ge=2, le=MOST)]

Ports = Annotated[
    Count | None,
    Meta(description="Peers a rank drives at once; as many as the fabric allows."),
]
Degree = Annotated[
    Count | None,
    Meta(description="Arcs out of and into a rank; as many as it has ports."),
]
Shape = Annotated[
    tuple[Count, ...] | None,
    Meta(
        description="Sizes of the dimensions, the last running fastest over the ranks;"
        " their product is the number of ranks. By default the factors that need"
        " fewest rounds of at most as many peers as there are ports."
    ),
]
TorusShape = Annotated[
    tuple[Count, ...] | None,
    Meta(
        description="Sizes of the dimensions, the last running fastest over the"
        " ranks; their product is the number of ranks. By default two, as near to"
        " each other as can be."
    ),
]
Parts = Annotated[
    Annotated[int, Meta(ge=1, le=64)] | None,
    Meta(
        description="Parts of the buffer, of which part p begins with dimension p;"
        " as many as dimensions."
    ),
]
FewestRounds = Annotated[
    tuple[Radix, ...] | None,
    Meta(
        description="Factors whose product is the number of ranks, a round for each."
        " By default those that need fewest rounds of at most as many peers as there"
        " are ports, then the fewest peers in all."
    ),
]
NearFirst = Annotated[
    bool,
    Meta(
        description="The first round is between neighbouring ranks, not between the"
        " farthest; for all-reduce only."
    ),
]
DeBruijnDegree = Annotated[
    Radix | None,
    Meta(
        description="Arcs out of and into a rank, loops included, at least 2; as many"
        " as it has ports."
    ),
]
Pieces = Annotated[
    Count,
    Meta(description="Pieces of each part, which follow one another a round apart."),
]
