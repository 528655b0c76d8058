"""Run the engine and keep its working state, to compare with what its log says."""

from dataclasses import dataclass
from typing import Any

from galloscope.core.allocator.gallocr import Gallocr
from galloscope.core.columns import Columns, prepare
from galloscope.core.errors import GgmlAbort
from galloscope.core.events import Abort, Begin, Done, Stage
from galloscope.core.graph import Problem
from galloscope.core.log import Run
from galloscope.core.scheduler.split import Splitter
from galloscope.core.session import planner_for


@dataclass
class Ended:
    """A run, and the engine's own objects right after it."""

    run: Run
    columns: Columns
    splitter: Splitter | None
    gallocr: Gallocr


def run_engine(problem: Problem) -> Any:
    """Yield each run as it ends; the engine's objects are only valid until the next one."""
    planner = planner_for(problem)
    before = None
    for request in problem.requests:
        run = Run(problem, request, previous=before)
        record = run.events.append
        record(Begin(Stage.BUILD))
        columns = prepare(request.graph, problem.config.order, record)
        try:
            record(Done(planner.run(columns, request, record)))
        except GgmlAbort as error:
            record(Abort(str(error)))
        yield Ended(run, columns, planner.splitter, planner.gallocr)
        if run.abort is not None:
            return
        before = run
