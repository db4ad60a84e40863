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

_CLAIMS = "certificates.check"
_SUMMARIES = {
    "verdict": {
        "fabric": "The fabric table describes a fabric.",
        "footer-counts": "The footer counts what the file has.",
        "footer-time": "The footer's completion time is replay's.",
    },
    "checks.task": {
        "task": "The task makes sense on the fabric.",
    },
    "checks.order": {
        "packet-has-circuits": (
            "On a packet fabric there are no segments, and steps name no plane."
        ),
        "plane-range": "Segments and steps name a plane there is.",
        "segment-order": (
            "Segments of a plane count 0, 1, 2, ... and no step goes back to an earlier"
            " one than a step before it has used."
        ),
        "segment-exists": "A step names a segment there is.",
        "step-order": (
            "Steps count 0, 1, 2, ... in the order of the file, and name each segment"
            " of a plane at most once."
        ),
    },
    "checks.circuits": {
        "circuit-columns": (
            "A segment has the columns of its fabric, all of one length."
        ),
        "node-range": "Circuits and transfers run between nodes of the fabric.",
        "self-circuit": "No circuit leads to its own source.",
        "multicast-circuit": (
            "Rows of one multicast circuit share source, wavelengths and transceiver,"
            " and lead to different nodes."
        ),
        "wavelength-range": (
            "A circuit has wavelengths of the fabric, at least one, none twice."
        ),
        "route-is-path": "A route goes from neighbour to neighbour inside the grid.",
        "route-ends": "A route runs from its circuit's source to its destination.",
        "route-is-simple": "A route visits no tile twice.",
        "lasers": "A laser feeds one circuit of a segment.",
        "photodiodes": "A photodiode listens to one circuit of a segment.",
        "waveguides": (
            "No edge carries a wavelength more often than it has waveguides or fibres."
        ),
        "direction-range": "A circuit of a ring runs in a direction there is.",
        "shared-ring": (
            "A circuit of a 2D ring runs along a row or column that both its ends are"
            " on."
        ),
        "reach": "A circuit of a ring crosses no more spans than its light reaches.",
        "spans": "A span of a ring carries a wavelength once in a direction.",
        "one-switch": "A circuit of SiPAC joins two nodes that share a switch.",
        "shuffle": (
            "Where switches hold the shuffle for good, a circuit has wavelengths by"
            " which it joins its two nodes."
        ),
        "switch-inputs": "At most one circuit of a switch leaves a node.",
        "switch-outputs": "At most one circuit of a switch enters a node.",
        "switch-ports": (
            "Where circuits are bidirectional, a port joins its node to one other."
        ),
        "transceiver-range": (
            "A circuit of RAMP uses a transceiver that its nodes have."
        ),
        "multicast-wavelength": (
            "A multicast circuit of RAMP reaches all its destinations on one"
            " wavelength."
        ),
        "subnets": (
            "A wavelength of a RAMP subnet carries one circuit, whatever its racks;"
            " behind gratings, one at each coupler, or one through each switch input."
        ),
        "transmitters": "A transmitter of a RAMP node feeds one circuit.",
        "receivers": "A receiver of a RAMP node listens to one circuit.",
        "multicast-data": (
            "In a step, all who use a multicast circuit get the same chunks over the"
            " same circuits; bytes of a demand have one destination."
        ),
    },
    "checks.transfers": {
        "circuit-held": "A transfer runs on a circuit that its segment holds.",
        "transfer-kind": "A collective moves chunks, a demand moves bytes.",
        "transfer-columns": (
            "The columns of a step have one length, and operations are known ones."
        ),
        "self-transfer": "No node transfers to itself.",
        "rank-membership": (
            "A collective moves data between its own nodes; others have no rank and do"
            " not forward."
        ),
        "chunk-range": (
            "A transfer moves at least one chunk, and only chunks there are."
        ),
        "bytes-range": (
            "A fluid transfer moves 1 to 2**60 - 1 bytes; all transfers, up to 2**63 -"
            " 1."
        ),
    },
    "data.contributions": {
        "source-holds-data": "A source holds what it sends when its step is released.",
        "reduce-into-nothing": "A reduce finds something to add to at its destination.",
        "write-conflict": (
            "In a step a chunk of a node is copied into at most once, and not reduced"
            " into as well."
        ),
        "post-condition-missing": (
            "In the end everyone has every contribution it must have."
        ),
        "post-condition-double": (
            "In the end no contribution that must be there is there twice."
        ),
        "post-condition-wrong": (
            "In the end no chunk that is asked for holds a contribution that does not"
            " belong to it."
        ),
    },
    "checks.demand": {
        "demand-bytes": "Every pair is served the bytes it asks for, no more, no less.",
        "demand-relays": (
            "A byte takes one circuit; or two, if relays are allowed and have it by"
            " then."
        ),
    },
    _CLAIMS: {
        "certificate-kind": "The kind of certificate is known.",
        "certificate-witness": (
            "The witness has the form of its kind and fits the fabric and the task."
        ),
        "certificate-bound": (
            "The witness proves the bound, and no valid schedule beats it."
        ),
        "certificate-value": "The certificate's value is the completion time.",
        "objective-name": (
            "An objective with a certificate is known, measures the schedule, comes"
            " once."
        ),
        "objective-kind": "The kind of an objective's certificate is one for it.",
        "objective-witness": (
            "The witness has the form of its kind and fits what is bounded."
        ),
        "objective-bound": (
            "The witness proves the bound of the objective, and the schedule keeps to"
            " it."
        ),
        "objective-value": "The value is what the schedule has of the objective.",
    },
}
"""Rules, by the module that checks them."""

_MODELLED = {
    "footer-counts": _CLAIM,
    "footer-time": _CLAIM,
    "route-is-path": "`models/routing`: flow conservation (10)",
    "route-ends": (
        "`models/routing`: flow out of the source, into the destination (13) to (16)"
    ),
    "route-is-simple": "`models/routing`: its decoder drops isolated cycles",
    "lasers": "`models/rounds`: laser (4); `models/ring`: laser (node constraint)",
    "photodiodes": "`models/rounds`: photodiode (5); `models/ring`: photodiode",
    "waveguides": "`models/rounds`: waveguide (6)",
    "shared-ring": "not modelled: no model has rings in two dimensions",
    "reach": "`models/ring`: ways within reach",
    "spans": "`models/ring`: span (ring constraint)",
    "one-switch": "not modelled: no model has SiPAC's switches",
    "shuffle": "not modelled: no model has SiPAC's switches",
    "switch-inputs": "`models/ocs`: leave (2)",
    "switch-outputs": "`models/ocs`: enter (1)",
    "switch-ports": "`models/ocs`: port",
    "subnets": _CLOSED_FORM,
    "transmitters": _CLOSED_FORM,
    "receivers": _CLOSED_FORM,
    "multicast-data": "not modelled: no model has circuits of several destinations",
    "circuit-held": "`models/rounds`: carry (1)",
    "rank-membership": "`models/rounds`: receive (3)",
    "post-condition-missing": "`models/rounds`: receive (3)",
    "source-holds-data": "`models/rounds`: hold, held (2)",
    "reduce-into-nothing": _COPIES,
    "write-conflict": _COPIES,
    "post-condition-double": _COPIES,
    "post-condition-wrong": _COPIES,
    "demand-bytes": (
        "not modelled: models decide on circuits; the bytes follow from the demand"
    ),
    "demand-relays": "not modelled: models of demands do not relay",
}
"""Where models state rules, or why none does; the others `_BY_FORM`,
but for what certificates claim."""
_ALSO = {"node-range": "checks.transfers"}
"""A second module that checks a rule."""

RULES: dict[str, Rule] = {
    rule: Rule(
        rule,
        summary,
        f"{module}, {_ALSO[rule]}" if rule in _ALSO else module,
        _MODELLED.get(rule, _CLAIM if module == _CLAIMS else _BY_FORM),
    )
    for module, rules in _SUMMARIES.items()
    for rule, summary in rules.items()
}
"""Every rule by id, in the order in which they are checked."""
