"""The routes of the Planners view: which sets there are, who answered what, pictures, and work in the background."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
from flask import Flask, Response, jsonify, request

from ..core.errors import InputError
from ..core.planners.bound import lower_bound
from . import replies
from .figures.planners import REFERENCE, headline, pair_of, peaks_of, proved_of, row_of, titles
from .figures.planners_scene import ggml_peak, plan_scene, set_device, set_scene
from .figures.planners_stages import stages_data
from .planning import ORDERS, USUAL_LIMIT, Planning, Question, limit_of, plan_key, question_of, stages_key
from .sessions import SessionStore

WAIT = 0.5
"""Seconds a question about running planners waits for news."""


def add(server: Flask, store: SessionStore) -> None:
    """Add the routes to a server."""

    def planning(session: str, run: int) -> Planning:
        return store.get(session).planning(run)

    def question() -> Question:
        return question_of(request.args.to_dict())

    @server.get("/planners/<session>/<int:run>/board.json")
    def board(session: str, run: int) -> Response:
        """The sets and the planners."""
        return replies.told(lambda: board_of(planning(session, run), question()))

    @server.get("/planners/<session>/<int:run>/rows.json")
    def rows(session: str, run: int) -> Response:
        """What is known about one set; with `job` it waits a moment for news of that work."""

        def make() -> dict[str, Any]:
            key = request.args.get("job", "")
            job = store.plans.wait(key, WAIT) if key else None
            ended = job is None or job.done  # asked before the rows: what ends in between is told the next time
            told = rows_of(planning(session, run), question())
            if job is None or ended:
                return {**told, "job": "", "trouble": job.error if job and not job.stopped else ""}
            planner, _, stage = job.stage.partition(": ")
            return {**told, "job": job.key, "planner": planner, "stage": stage, "seconds": round(job.seconds, 1)}

        return replies.told(make)

    @server.post("/planners/<session>/<int:run>/run")
    def start(session: str, run: int) -> Response:
        """Ask the planners that were not asked yet, or those that are named."""

        def make() -> dict[str, Any]:
            wish = replies.asked()
            plans, asked, limit = planning(session, run), question_of(wish), limit_of(wish.get("limit", USUAL_LIMIT))
            wanted = plans.named(wish.get("names"))
            names = wanted or plans.open_names(asked, limit)
            told = rows_of(plans, asked)
            if not names:
                return {**told, "job": ""}
            job = store.plans.start(lambda job: plans.run(asked, names, limit, job))
            return {**told, "job": job.key, "planner": names[0], "stage": "", "seconds": 0.0}

        return replies.told(make)

    @server.post("/planners/cancel/<key>")
    def cancel_planners(key: str) -> Response:
        store.plans.cancel(key)
        return jsonify({})

    @server.get("/planners/<session>/<int:run>/set.json")
    def shared(session: str, run: int) -> Response:
        """What all plans of a set share."""

        def make() -> bytes:
            plans, asked = planning(session, run), question()
            return plans.view(asked, "set", lambda: _gzipped(set_scene(plans.subject(asked))))

        return replies.packed(make)

    @server.get("/planners/<session>/<int:run>/plan.json")
    def plan(session: str, run: int) -> Response:
        """One plan as a picture."""

        def make() -> bytes:
            plans, asked, name = planning(session, run), question(), request.args.get("planner", "")
            return plans.view(
                asked,
                plan_key(name),
                lambda: _gzipped(plan_scene(plans.subject(asked), plans.plan(asked, name), name)),
            )

        return replies.packed(make)

    @server.get("/planners/<session>/<int:run>/stages.json")
    def stages(session: str, run: int) -> Response:
        """How one plan comes about."""

        def make() -> bytes:
            plans, asked, name = planning(session, run), question(), request.args.get("planner", "")
            return plans.view(
                asked,
                stages_key(name),
                lambda: _gzipped(stages_data(plans.subject(asked), plans.plan(asked, name), name)),
            )

        return replies.packed(make)


def board_of(plans: Planning, asked: Question) -> dict[str, Any]:
    """The sets, the planners, and what may be chosen.

    Raises:
        InputError: the run made no plan.
    """
    from ..core.planners.known import PLANNERS

    subjects = plans.subjects(asked.in_place, asked.order)
    if not subjects:
        raise InputError("this run plans no buffer")
    return {
        "graph": plans.graph,
        "orders": list(ORDERS) if plans.graph else [],
        "limit": USUAL_LIMIT,
        "planners": titles(PLANNERS),
        "buffers": [
            {
                "name": subject.instance.name,
                "n": len(subject.instance),
                "bound": lower_bound(subject.instance),
                "ggml": ggml_peak(subject),
                "unsound": subject.unsound,
                "device": set_device(subject),
            }
            for subject in subjects
        ],
    }


def rows_of(plans: Planning, asked: Question) -> dict[str, Any]:
    """The rows that are known, the sentence above them, and which two plans to show by default."""
    from ..core.planners.known import PLANNERS

    outcomes = plans.outcomes(asked)
    peaks = peaks_of(outcomes)
    subject = plans.subject(asked)
    instance = subject.instance
    given = plans.given(asked)
    reference, proved = peaks.get(REFERENCE, given), proved_of(outcomes)
    sentence = headline(
        instance.name,
        lower_bound(instance),
        peaks,
        given,
        proved,
        subject.freed_in_time,
        unsound=subject.unsound,
        complete=len(outcomes) == len(PLANNERS),
    )
    return {
        "rows": [row_of(name, one, reference, proved) for name, one in outcomes.items()],
        "headline": sentence.parts,
        "pair": pair_of(list(outcomes), peaks),
    }


def _gzipped(value: dict[str, Any]) -> bytes:
    return gzip.compress(msgspec.json.encode(value), 6, mtime=0)
