"""Shared test settings: one BLAS thread, no display, signals as in a terminal, real data only where it is present."""

import json
import os
import signal
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["MPLBACKEND"] = "Agg"
# Under nohup or in the background of a shell these are ignored, and would be so in every command that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

from pathlib import Path  # noqa: E402

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# The same examples in every run: a test that fails, fails for everybody.
settings.register_profile("same_examples", derandomize=True)
settings.load_profile("same_examples")

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_data():
    """Path of a real data set by name; the test is skipped where the data are not at hand."""

    def path_of(name: str) -> Path:
        path = DATA / f"{name}.csv.gz"
        if not path.exists():
            pytest.skip(f"{path.name} is not present beside the checkout")
        return path

    return path_of


@pytest.fixture
def command(capsys):
    """`command(*words)`: the exit code of a command, and what it writes to stdout and stderr."""

    def call(*words: object) -> tuple[object, str, str]:
        from chanceline.cli.main import main

        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return call


def start_dask(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def dask_command():
    """`dask_command("worker", ADDRESS, …)`: starts a process of Dask."""
    return start_dask


@pytest.fixture
def wait_for():
    """`wait_for(condition)`: until it is true, for at most a minute."""

    def wait(condition) -> None:
        deadline = time.monotonic() + 60.0
        while not condition():
            assert time.monotonic() < deadline, "the condition did not come true in time"
            time.sleep(0.02)

    return wait


@pytest.fixture
def dask_processes(tmp_path, wait_for):
    """A real scheduler and two workers on loopback: the scheduler's address, and the processes, the scheduler first."""
    distributed = pytest.importorskip("distributed")
    file = tmp_path / "scheduler.json"
    common = ("--scheduler-file", str(file))
    processes = [
        start_dask("scheduler", *common, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    ]
    try:
        wait_for(lambda: file.exists() and file.read_text().strip().endswith("}"))
        # One thread a worker, and no nanny: a killed worker stays dead.
        worker = (
            "worker",
            *common,
            "--host",
            "127.0.0.1",
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
        )
        folders = [tmp_path / "first", tmp_path / "second"]
        processes += [
            start_dask(*worker, "--name", path.name, "--local-directory", str(path))
            for path in folders
        ]
        address = json.loads(file.read_text())["address"]
        # With one worker there joblib would do the work here.
        with distributed.Client(address) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB, where mounting is allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
