"""Dask clusters: a task that the cluster gives up is an error, where joblib by itself would wait for ever."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self

from joblib._dask import DaskDistributedBackend


class HeedfulBackend(DaskDistributedBackend):  # type: ignore[misc]  # joblib has no types
    """Joblib's backend for Dask that calls back for failures too.

    Dask starts a task again where its worker was killed. After a few workers it gives the task up, which joblib 1.6
    notes and tells nobody. Failures of the task itself are among its results, and no concern of this class.
    """

    @classmethod
    def like(cls, backend: DaskDistributedBackend) -> Self:
        """Take over what the user has set."""
        timeout = backend.wait_for_workers_timeout
        return cls(client=backend.client, wait_for_workers_timeout=timeout, **backend.submit_kwargs)

    def submit(self, func: Any, callback: Callable[[Any], None]) -> "Future[Any]":
        """Start a task, and call back when it is done or given up."""
        future: Future[Any] = super().submit(func, callback)
        future.add_done_callback(lambda done: callback(done.exception()) if done.exception() else None)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Give the result of a task, or raise why there is none."""
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)
