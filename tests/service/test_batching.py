"""Batches: a single job at once, those that gathered together, errors to their own."""

import asyncio
import threading

import pytest

from fdch.service.http.problems import Problem
from fdch.service.index.batching import Batcher, BoundedPool


def run(work, test, most=8):
    """Run a test with a batcher on a loop."""

    async def main():
        batcher = Batcher(work, most, "test", sizes.append)
        batcher.start(asyncio.get_running_loop())
        try:
            return await test(batcher)
        finally:
            await asyncio.to_thread(batcher.close)

    sizes: list[int] = []
    return asyncio.run(main()), sizes


def test_each_job_has_its_own_answer():
    async def test(batcher):
        return await asyncio.gather(*map(batcher.submit, range(50)))

    answers, sizes = run(lambda jobs: [job * 2 for job in jobs], test)
    assert answers == [2 * job for job in range(50)]
    assert sum(sizes) == 50
    assert max(sizes) <= 8


def test_what_comes_while_the_thread_works_is_done_together():
    is_free, has_begun = threading.Event(), threading.Event()

    def work(jobs):
        has_begun.set()
        is_free.wait(30)
        return jobs

    async def test(batcher):
        first = asyncio.create_task(batcher.submit(0))
        await asyncio.to_thread(has_begun.wait, 30)
        others = [asyncio.create_task(batcher.submit(job)) for job in range(1, 8)]
        while batcher.length < 7:
            await asyncio.sleep(0.001)
        is_free.set()
        return await asyncio.gather(first, *others)

    answers, sizes = run(work, test)
    assert answers == list(range(8))
    assert sizes == [1, 7]


def test_an_error_is_raised_where_it_belongs():
    def work(jobs):
        return [ValueError(job) if job % 2 else job for job in jobs]

    async def test(batcher):
        return await asyncio.gather(
            *map(batcher.submit, range(6)), return_exceptions=True
        )

    answers, _ = run(work, test)
    assert answers[::2] == [0, 2, 4]
    assert all(isinstance(answer, ValueError) for answer in answers[1::2])


def test_work_that_fails_fails_all_its_jobs_and_goes_on():
    def work(jobs):
        if "bad" in jobs:
            raise KeyError("bad")
        return jobs

    async def test(batcher):
        with pytest.raises(KeyError):
            await batcher.submit("bad")
        return await batcher.submit("good")

    assert run(work, test)[0] == "good"


def test_abandoned_jobs_are_not_done():
    done = []
    is_free, has_begun = threading.Event(), threading.Event()

    def work(jobs):
        has_begun.set()
        is_free.wait(30)
        done.extend(jobs)
        return jobs

    async def test(batcher):
        first = asyncio.create_task(batcher.submit("first"))
        await asyncio.to_thread(has_begun.wait, 30)
        dropped = asyncio.create_task(batcher.submit("dropped"))
        last = asyncio.create_task(batcher.submit("last"))
        while batcher.length < 2:
            await asyncio.sleep(0.001)
        dropped.cancel()
        await asyncio.sleep(0)
        is_free.set()
        await asyncio.gather(first, last)

    run(work, test)
    assert done == ["first", "last"]


def test_what_was_submitted_is_done_before_the_end():
    done = []

    def work(jobs):
        done.extend(jobs)
        return jobs

    async def test(batcher):
        tasks = [asyncio.create_task(batcher.submit(job)) for job in range(20)]
        await asyncio.sleep(0)
        await asyncio.to_thread(batcher.close)
        assert sorted(await asyncio.gather(*tasks)) == list(range(20))
        with pytest.raises(RuntimeError, match="stopping"):
            await batcher.submit(21)

    run(work, test)
    assert sorted(done) == list(range(20))


def test_a_pool_refuses_what_would_wait_too_long():
    is_free = threading.Event()

    async def main():
        pool = BoundedPool(1, 2, "test")
        tasks = [asyncio.create_task(pool.run(is_free.wait, 30)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Problem) as caught:
            await pool.run(is_free.wait, 30)
        assert caught.value.status == 503
        is_free.set()
        assert await asyncio.gather(*tasks) == [True] * 3
        await asyncio.sleep(0.01)
        assert await pool.run(lambda: "free again") == "free again"
        pool.close()

    asyncio.run(main())
