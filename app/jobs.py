"""Work that takes longer than a click: run in a thread, with its stage, its result and a way to stop it."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Condition, Thread

from ..core.errors import GalloscopeError, InputError

MOST_RUNNING = 4
MOST_KEPT = 32
FORGOTTEN = 30.0
"""Seconds without a question after which nobody waits for a job any more: its page is gone, and it is stopped."""


class Job:
    """One piece of work; its fields change under `changed`.

    Attributes:
        key: its id, which nobody can guess.
        stage: what it is doing, a few words.
        result: the id of the session that it made, empty until then.
        error: the sentence why it made none.
        failure: a bug, for whoever asks.
        done: it has ended, one way or the other.
        began: when, in seconds of the monotonic clock.
        asked: when somebody last asked about it.
    """

    def __init__(self, changed: Condition) -> None:
        """Not started."""
        self.key = secrets.token_hex(8)
        self.changed = changed
        self.stage = "starting"
        self.result = ""
        self.error = ""
        self.failure: BaseException | None = None
        self.done = False
        self.stopped = False
        self.began = self.asked = time.monotonic()

    def say(self, text: str) -> None:
        """Tell the stage."""
        with self.changed:
            self.stage = text
            self.changed.notify_all()

    def is_stopped(self) -> bool:
        """Whether it was asked to stop, or nobody waits for it."""
        return self.stopped or time.monotonic() - self.asked > FORGOTTEN

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began


class Jobs:
    """The jobs of a server; safe to use from several threads."""

    def __init__(self, busy: str = "files are being opened already") -> None:
        """None yet; `busy` says what goes on when there are too many."""
        self._busy = busy
        self._changed = Condition()
        self._jobs: OrderedDict[str, Job] = OrderedDict()

    def start(self, work: Callable[[Job], str]) -> Job:
        """Run `work(job)` in a thread; it returns the id of a session.

        Raises:
            InputError: too many are running.
        """
        job = Job(self._changed)
        with self._changed:
            # One that was cancelled is on its way out and takes nobody's place.
            if sum(not (one.done or one.stopped) for one in self._jobs.values()) >= MOST_RUNNING:
                raise InputError(f"{MOST_RUNNING} {self._busy}: wait for one or cancel it")
            self._jobs[job.key] = job
            for key in [key for key, one in self._jobs.items() if one.done][: max(0, len(self._jobs) - MOST_KEPT)]:
                del self._jobs[key]
        Thread(target=self._run, args=(job, work), daemon=True).start()
        return job

    def _run(self, job: Job, work: Callable[[Job], str]) -> None:
        result, error, failure = "", "", None
        try:
            result = work(job)
        except GalloscopeError as told:
            error = str(told)
        except MemoryError:
            error = "not enough memory for this graph"
        except BaseException as unexpected:  # a bug: raised again by whoever asks, so that it is not lost in a thread
            failure = unexpected
        with self._changed:
            job.result, job.error, job.failure, job.done = result, error, failure, True
            self._changed.notify_all()

    def wait(self, key: str, seconds: float) -> Job:
        """The job, after it has ended, its stage has changed, or the time is over.

        Raises:
            InputError: there is no such job.
        """
        with self._changed:
            job = self._jobs.get(key)
            if job is None:
                raise InputError("this work is not known any more: open the file again")
            job.asked = time.monotonic()
            stage = job.stage
            self._changed.wait_for(lambda: job.done or job.stage != stage, seconds)
            job.asked = time.monotonic()
        if job.failure is not None:
            raise job.failure
        return job

    def cancel(self, key: str) -> None:
        """Ask a job to stop; one that is not known has ended long ago."""
        with self._changed:
            job = self._jobs.get(key)
            if job is not None:
                job.stopped = True
