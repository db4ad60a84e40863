"""The ledger of rules: what a schedule must obey, and who looks after it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One rule.

    `id`: what a violation carries in `Violation.rule`. `summary`: the rule as a
    sentence. `checked_by`: module under ``lightloom.validate`` that reports it.
    `modelled_by`: where a declarative model states it, or ``not modelled`` with the
    reason.
    """

    id: str
    summary: str
    checked_by: str
    modelled_by: str


_COPIES = "not modelled: models copy; reductions are copies with time reversed"
_BY_FORM = "not modelled: a model's decoder cannot produce it"
_CLOSED_FORM = "not modelled: `synth/ramp` has closed forms that keep it"
_CLAIM = "not modelled: a claim about a schedule, not a part of one"

_LEDGER = (
    ("fabric", "The fabric table describes a fabric.", "verdict", _BY_FORM),
    ("task", "The task makes sense on the fabric.", "checks.task", _BY_FORM),
    (
        "packet-has-circuits",
        "On a packet fabric there are no segments, and steps name no plane.",
        "checks.order",
        _BY_FORM,
    ),
    (
        "plane-range",
        "Segments and steps name a plane there is.",
        "checks.order",
        _BY_FORM,
    ),
    (
        "segment-order",
        (
            "Segments of a plane count 0, 1, 2, ... and no step goes back to an"
            " earlier one than a step before it has used."
        ),
        "checks.order",
        _BY_FORM,
    ),
    ("segment-exists", "A step names a segment there is.", "checks.order", _BY_FORM),
    (
        "step-order",
        (
            "Steps count 0, 1, 2, ... in the order of the file, and name each segment"
            " of a plane at most once."
        ),
        "checks.order",
        _BY_FORM,
    ),
    (
        "circuit-columns",
        "A segment has the columns of its fabric, all of one length.",
        "checks.circuits",
        _BY_FORM,
    ),
    (
        "node-range",
        "Circuits and transfers run between nodes of the fabric.",
        "checks.circuits, checks.transfers",
        _BY_FORM,
    ),
    (
        "self-circuit",
        "No circuit leads to its own source.",
        "checks.circuits",
        _BY_FORM,
    ),
    (
        "multicast-circuit",
        (
            "Rows of one multicast circuit share source, wavelengths and transceiver,"
            " and lead to different nodes."
        ),
        "checks.circuits",
        _BY_FORM,
    ),
    (
        "wavelength-range",
        "A circuit has wavelengths of the fabric, at least one, none twice.",
        "checks.circuits",
        _BY_FORM,
    ),
    (
        "route-is-path",
        "A route goes from neighbour to neighbour inside the grid.",
        "checks.circuits",
        "`models/routing`: flow conservation (10)",
    ),
    (
        "route-ends",
        "A route runs from its circuit's source to its destination.",
        "checks.circuits",
        "`models/routing`: flow out of the source, into the destination (13) to (16)",
    ),
    (
        "route-is-simple",
        "A route visits no tile twice.",
        "checks.circuits",
        "`models/routing`: its decoder drops isolated cycles",
    ),
    (
        "lasers",
        "A laser feeds one circuit of a segment.",
        "checks.resources",
        "`models/rounds`: laser (4); `models/ring`: laser (node constraint)",
    ),
    (
        "photodiodes",
        "A photodiode listens to one circuit of a segment.",
        "checks.resources",
        "`models/rounds`: photodiode (5); `models/ring`: photodiode",
    ),
    (
        "waveguides",
        "No edge carries a wavelength more often than it has waveguides or fibres.",
        "checks.resources",
        "`models/rounds`: waveguide (6)",
    ),
    (
        "direction-range",
        "A circuit of a ring runs in a direction there is.",
        "checks.circuits",
        _BY_FORM,
    ),
    (
        "shared-ring",
        "A circuit of a 2D ring runs along a row or column that both its ends are on.",
        "checks.circuits",
        "not modelled: no model has rings in two dimensions",
    ),
    (
        "reach",
        "A circuit of a ring crosses no more spans than its light reaches.",
        "checks.circuits",
        "`models/ring`: ways within reach",
    ),
    (
        "spans",
        "A span of a ring carries a wavelength once in a direction.",
        "checks.resources",
        "`models/ring`: span (ring constraint)",
    ),
    (
        "one-switch",
        "A circuit of SiPAC joins two nodes that share a switch.",
        "checks.circuits",
        "not modelled: no model has SiPAC's switches",
    ),
    (
        "shuffle",
        (
            "Where switches hold the shuffle for good, a circuit has wavelengths by"
            " which it joins its two nodes."
        ),
        "checks.circuits",
        "not modelled: no model has SiPAC's switches",
    ),
    (
        "switch-inputs",
        "At most one circuit of a switch leaves a node.",
        "checks.resources",
        "`models/ocs`: leave (2)",
    ),
    (
        "switch-outputs",
        "At most one circuit of a switch enters a node.",
        "checks.resources",
        "`models/ocs`: enter (1)",
    ),
    (
        "switch-ports",
        "Where circuits are bidirectional, a port joins its node to one other.",
        "checks.resources",
        "`models/ocs`: port",
    ),
    (
        "transceiver-range",
        "A circuit of RAMP uses a transceiver that its nodes have.",
        "checks.circuits",
        _BY_FORM,
    ),
    (
        "multicast-wavelength",
        "A multicast circuit of RAMP reaches all its destinations on one wavelength.",
        "checks.circuits",
        _BY_FORM,
    ),
    (
        "subnets",
        (
            "A wavelength of a RAMP subnet carries one circuit, whatever its racks;"
            " behind gratings, one at each coupler, or one through each switch input."
        ),
        "checks.resources",
        _CLOSED_FORM,
    ),
    (
        "transmitters",
        "A transmitter of a RAMP node feeds one circuit.",
        "checks.resources",
        _CLOSED_FORM,
    ),
    (
        "receivers",
        "A receiver of a RAMP node listens to one circuit.",
        "checks.resources",
        _CLOSED_FORM,
    ),
    (
        "circuit-held",
        "A transfer runs on a circuit that its segment holds.",
        "checks.held",
        "`models/rounds`: carry (1)",
    ),
    (
        "multicast-data",
        (
            "In a step, all who use a multicast circuit get the same chunks over the"
            " same circuits; bytes of a demand have one destination."
        ),
        "checks.multicast",
        "not modelled: no model has circuits of several destinations",
    ),
    (
        "transfer-kind",
        "A collective moves chunks, a demand moves bytes.",
        "checks.transfers",
        _BY_FORM,
    ),
    (
        "transfer-columns",
        "The columns of a step have one length, and operations are known ones.",
        "checks.transfers",
        _BY_FORM,
    ),
    ("self-transfer", "No node transfers to itself.", "checks.transfers", _BY_FORM),
    (
        "rank-membership",
        (
            "A collective moves data between its own nodes; others have no rank and"
            " do not forward."
        ),
        "checks.transfers",
        "`models/rounds`: receive (3)",
    ),
    (
        "chunk-range",
        "A transfer moves at least one chunk, and only chunks there are.",
        "checks.transfers",
        _BY_FORM,
    ),
    (
        "bytes-range",
        "A fluid transfer moves 1 to 2**60 - 1 bytes; all transfers, up to 2**63 - 1.",
        "checks.transfers",
        _BY_FORM,
    ),
    (
        "source-holds-data",
        "A source holds what it sends when its step is released.",
        "data.contributions",
        "`models/rounds`: hold, held (2)",
    ),
    (
        "reduce-into-nothing",
        "A reduce finds something to add to at its destination.",
        "data.contributions",
        _COPIES,
    ),
    (
        "write-conflict",
        (
            "In a step a chunk of a node is copied into at most once, and not"
            " reduced into as well."
        ),
        "data.contributions",
        _COPIES,
    ),
    (
        "post-condition-missing",
        "In the end everyone has every contribution it must have.",
        "data.postcondition",
        "`models/rounds`: receive (3)",
    ),
    (
        "post-condition-double",
        "In the end no contribution that must be there is there twice.",
        "data.postcondition",
        _COPIES,
    ),
    (
        "post-condition-wrong",
        (
            "In the end no chunk that is asked for holds a contribution that does not"
            " belong to it."
        ),
        "data.postcondition",
        _COPIES,
    ),
    (
        "demand-bytes",
        "Every pair is served the bytes it asks for, no more, no less.",
        "checks.demand",
        "not modelled: models decide on circuits; the bytes follow from the demand",
    ),
    (
        "demand-relays",
        "A byte takes one circuit; or two, if relays are allowed and have it by then.",
        "checks.demand",
        "not modelled: models of demands do not relay",
    ),
    ("footer-counts", "The footer counts what the file has.", "checks.footer", _CLAIM),
    (
        "footer-time",
        "The footer's completion time is replay's.",
        "checks.footer",
        _CLAIM,
    ),
    (
        "certificate-kind",
        "The kind of certificate is known.",
        "certificates.check",
        _CLAIM,
    ),
    (
        "certificate-witness",
        "The witness has the form of its kind and fits the fabric and the task.",
        "certificates.check",
        _CLAIM,
    ),
    (
        "certificate-bound",
        "The witness proves the bound, and no valid schedule beats it.",
        "certificates.check",
        _CLAIM,
    ),
    (
        "certificate-value",
        "The certificate's value is the completion time.",
        "certificates.check",
        _CLAIM,
    ),
    (
        "objective-name",
        "An objective with a certificate is known, measures the schedule, comes once.",
        "certificates.check",
        _CLAIM,
    ),
    (
        "objective-kind",
        "The kind of an objective's certificate is one for it.",
        "certificates.check",
        _CLAIM,
    ),
    (
        "objective-witness",
        "The witness has the form of its kind and fits what is bounded.",
        "certificates.check",
        _CLAIM,
    ),
    (
        "objective-bound",
        "The witness proves the bound of the objective, and the schedule keeps to it.",
        "certificates.check",
        _CLAIM,
    ),
    (
        "objective-value",
        "The value is what the schedule has of the objective.",
        "certificates.check",
        _CLAIM,
    ),
)

RULES: dict[str, Rule] = {entry[0]: Rule(*entry) for entry in _LEDGER}
"""Every rule by id, in the order in which they are checked."""
