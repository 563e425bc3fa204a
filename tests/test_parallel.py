"""One way to work in parallel: in order, whole after a worker's death, stopped by Ctrl-C, gone with its parent."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from chanceline.errors import InputError
from chanceline.parallel import LocalWorkers, WorkersLostError, open_executor, run_ordered
from chanceline.parallel.compiling import compile_watch

TOY = Path(__file__).parent / "experiments" / "toy"


@pytest.fixture(autouse=True)
def toy_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", str(TOY))


@pytest.fixture
def toy():
    import toy_calls

    return toy_calls


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.02)


def test_order_and_values_do_not_depend_on_who_works(toy):
    items, common = range(50), (7, 2.0)
    expected = [toy.draw(item, *common) for item in items]
    assert [item for item, _ in expected] == list(items)
    heard = []
    assert list(run_ordered(toy.draw, items, common=common, progress=lambda *told: heard.append(told))) == expected
    assert heard == [(done, 50) for done in range(1, 51)]
    assert list(run_ordered(toy.draw, items, common=common, workers=2)) == expected
    with open_executor(workers=3) as executor:
        assert list(run_ordered(toy.draw, items, common=common, executor=executor)) == expected
        assert list(run_ordered(toy.draw, items, common=(8, 2.0), executor=executor)) != expected
    with ThreadPoolExecutor(3) as threads:
        assert list(run_ordered(toy.draw, items, common=common, executor=threads)) == expected
    assert list(run_ordered(toy.draw, [], workers=2)) == []


def test_every_call_has_one_blas_thread(toy):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=2):
        before = toy.blas_threads(0)
        assert set(run_ordered(toy.blas_threads, range(3))) == {1}
        with ThreadPoolExecutor(3) as threads:
            assert set(run_ordered(toy.blas_threads, range(30), executor=threads)) == {1}
        assert toy.blas_threads(0) == before == 2
    assert set(run_ordered(toy.blas_threads, range(4), workers=2)) == {1}


def test_values_come_as_they_are_asked_for(toy, tmp_path):
    values = run_ordered(toy.note_pid, range(1000), common=(str(tmp_path), 0.0), workers=2)
    assert next(values) == 0
    values.close()
    assert 1 <= len(list(tmp_path.iterdir())) < 50


def test_common_arguments_reach_each_worker_once(toy, tmp_path):
    parcel = toy.Parcel(str(tmp_path))
    assert list(run_ordered(toy.with_parcel, range(40), common=(parcel,), workers=2)) == list(range(40))
    assert [mark.read_text() for mark in tmp_path.iterdir()] == ["x"] * len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("workers", [1, 2])
def test_exceptions_come_at_their_place_and_unchanged(toy, workers):
    values = run_ordered(toy.fail_at_three, range(9), workers=workers)
    assert [next(values) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ZeroDivisionError, match="three"):
        next(values)


def test_workers_that_compile_are_heard_here(toy):
    heard = []
    with compile_watch(lambda: heard.append(1)):
        assert list(run_ordered(toy.draw, range(4), common=(7, 2.0), workers=2))
        assert heard == []
        # Numba comes with the first call of a worker and is watched from the second.
        assert list(run_ordered(toy.compile_something, range(6), workers=2)) == [1, 2, 3, 4, 5, 6]
    assert heard == [1]


def test_what_a_dead_worker_had_is_done_again(toy, tmp_path):
    values = run_ordered(toy.die_once, range(12), common=(str(tmp_path),), workers=2)
    assert list(values) == [item * item for item in range(12)]
    assert sorted(mark.name for mark in tmp_path.iterdir()) == ["2", "5"]


def test_only_the_dead_worker_is_replaced(toy):
    with LocalWorkers(2) as executor:
        first = workers_at_work(executor)
        assert len(first) == 2
        os.kill(min(first), signal.SIGKILL)
        wait_for(lambda: not psutil.pid_exists(min(first)) or psutil.Process(min(first)).status() == psutil.STATUS_ZOMBIE)
        # Whoever takes the first call may have to notice it.
        lost = [future.exception() for future in [executor.submit(time.sleep, 0.2) for _ in range(2)]]
        assert sorted(type(error).__name__ for error in lost) == ["NoneType", "WorkerDiedError"]
        second = workers_at_work(executor)
        assert (len(second), first & second) == (2, {max(first)})


def workers_at_work(executor):
    """The processes that answer when both are busy."""
    import toy_calls

    seen = set()
    wait_for(lambda: seen.update(f.result() for f in [executor.submit(toy_calls.slow_pid) for _ in range(2)]) or len(seen) == 2)
    return seen


def test_what_cannot_be_sent_is_an_error_and_no_death(toy):
    with LocalWorkers(1) as executor:
        pid = executor.submit(os.getpid).result()
        with pytest.raises((AttributeError, pickle.PicklingError)):
            executor.submit(lambda: 1).result()
        with pytest.raises((TypeError, pickle.PicklingError)):
            executor.submit(threading.Lock).result()
        with pytest.raises(RuntimeError, match="PickyError: one two"):
            executor.submit(toy.raise_picky).result()
        with pytest.raises(SystemExit):
            executor.submit(sys.exit, 3).result()
        with pytest.raises(ZeroDivisionError) as caught:
            executor.submit(divmod, 1, 0).result()
        assert "in a worker process" in caught.value.__notes__[0]
        assert executor.submit(os.getpid).result() == pid


def test_a_cancelled_call_is_never_begun(toy, tmp_path):
    with LocalWorkers(1) as executor:
        calls = [executor.submit(toy.note_pid, item, str(tmp_path), 0.5) for item in range(4)]
        wait_for(lambda: calls[0].running())
        assert [call.cancel() for call in calls] == [False, True, True, True]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_call_that_always_kills_its_worker_ends_in_a_sentence(toy):
    with LocalWorkers(2) as executor, pytest.raises(WorkersLostError, match="workers are lost"):
        list(run_ordered(toy.die_always, range(6), executor=executor))


def test_strange_executors_are_not_mended(toy, tmp_path):
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(WorkersLostError):
        list(run_ordered(toy.die_once, range(4), common=(str(tmp_path),), executor=pool))


def test_killed_from_outside_nothing_is_lost(toy, tmp_path):
    items = range(60)
    values = run_ordered(toy.note_pid, items, common=(str(tmp_path), 0.02), workers=2)
    seen = []
    for value in values:
        seen.append(value)
        if value in (5, 20, 40):
            victim = max(tmp_path.iterdir(), key=lambda mark: mark.stat().st_mtime_ns)
            os.kill(int(victim.name.partition("-")[2]), signal.SIGKILL)
    assert seen == list(items)


SCRIPT = """
import sys
from chanceline.parallel import run_ordered
import toy_calls
if __name__ == "__main__":
    for value in run_ordered(toy_calls.FUNCTION, range(1000), common=(sys.argv[1], *COMMON), workers=2):
        print(value)
"""


@pytest.fixture(params=["note_pid", "hold"])
def script(tmp_path, request):
    """A process whose two workers sleep, or hold the interpreter's lock so that no thread of theirs can act."""
    path = tmp_path / "script.py"
    common = "(60.0,)" if request.param == "note_pid" else "()"
    path.write_text(SCRIPT.replace("FUNCTION", request.param).replace("COMMON", common))
    marks = tmp_path / "marks"
    marks.mkdir()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    variables = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen([sys.executable, path, marks], stderr=subprocess.PIPE, text=True, env=variables)
    wait_for(lambda: len(list(marks.iterdir())) == 2)
    workers = [psutil.Process(int(mark.name.partition("-")[2])) for mark in marks.iterdir()]
    yield process, workers
    process.kill()
    process.communicate()


def test_ctrl_c_reaches_the_caller_and_ends_the_workers(script):
    process, workers = script
    for worker in workers:
        worker.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert message.rstrip().endswith("KeyboardInterrupt")
    assert message.count("Traceback") == 1
    wait_for(lambda: not any(worker.is_running() for worker in workers))


def test_workers_die_with_their_parent_and_nothing_is_left_behind(script, tmp_path):
    process, workers = script
    process.kill()
    wait_for(lambda: not any(worker.is_running() for worker in workers))
    assert list((tmp_path / "scratch").iterdir()) == []


def test_ctrl_c_while_workers_start_is_one_traceback(tmp_path):
    """In a terminal it reaches the whole group, also processes that have read nothing yet."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("FUNCTION", "note_pid").replace("COMMON", "(60.0,)"))
    process = subprocess.Popen([sys.executable, path, tmp_path], stderr=subprocess.PIPE, text=True, process_group=0)
    wait_for(lambda: len(starting(process.pid)) > 0)
    os.killpg(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert (message.count("Traceback"), message.count("KeyboardInterrupt")) == (1, 1), message


def starting(pid):
    return [child for child in psutil.Process(pid).children() if "spawn_main" in " ".join(child.cmdline())]


def test_an_executor_that_nobody_closes_does_not_keep_the_program(tmp_path):
    path = tmp_path / "script.py"
    lines = ("from chanceline.parallel import LocalWorkers", 'if __name__ == "__main__":', "    executor = LocalWorkers(2)")
    path.write_text("\n".join([*lines, "    print(executor.submit(abs, -3).result())"]))
    ended = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "3\n", "")


def test_dask_cluster_gives_the_same(dask_processes, toy):
    address, _ = dask_processes
    items, common = range(30), (7, 2.0)
    expected = [toy.draw(item, *common) for item in items]
    with open_executor("dask", scheduler=address) as executor:
        assert list(run_ordered(toy.draw, items, common=common, executor=executor)) == expected
        with pytest.raises(ZeroDivisionError):
            list(run_ordered(toy.fail_at_three, items, executor=executor))
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        assert list(run_ordered(toy.draw, items, common=common, executor=client.get_executor())) == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"engine": "mpi"}, "no engine 'mpi'"),
        ({"engine": "dask"}, "needs the address of its scheduler"),
        ({"engine": "dask", "scheduler": "nonsense"}, "no Dask scheduler answers at nonsense"),
        ({"engine": "dask", "scheduler": "tls://127.0.0.1:1"}, "asks for TLS; name certificate"),
        ({"engine": "dask", "scheduler": "tcp://127.0.0.1:1", "workers": 2}, "brings its own"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "belongs to the dask engine"),
        ({"workers": 0}, "must be between 1 and"),
        ({"workers": 2**63}, "must be between 1 and"),
    ],
)
def test_mistakes_are_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence), open_executor(**arguments):
        pass


def test_fewer_than_one_worker_is_refused_at_once(toy):
    with pytest.raises(InputError, match="between 1 and"):
        run_ordered(toy.draw, range(3), workers=0)
