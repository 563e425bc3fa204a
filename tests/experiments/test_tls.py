"""The page about clusters, done as it says: certificates by its openssl lines, a cluster that asks for them, the same table."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from chanceline.experiments.store import Store
from chanceline.memory import AssociativeMemory, random_patterns

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cluster.md"
SWEEP = """
[[block]]
kind = "smallest"
trials = 3
grid = {n = [12], alpha = [0.5, 1.0]}
fixed = {method = "omp"}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def block(start: str, language: str = "sh") -> str:
    """The page's block of code that begins so."""
    found = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL) if text.startswith(start)]
    assert len(found) == 1, start
    return found[0]


class Cluster:
    """The page's commands on this machine: a port of its own, one worker, small work."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.address = f"tls://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def here(self, text: str) -> str:
        changes = {
            "10.0.0.1": "127.0.0.1",
            "8786": str(self.port),
            "--nworkers 8": f"--nworkers 1 --host 127.0.0.1 --local-directory {self.folder}",
            "sweep run best": "sweep run small.toml",
            "\ndask ": f"\nexec {sys.executable} -m dask ",
            "\nchanceline ": f"\n{sys.executable} -m chanceline ",
            "AssociativeMemory(500": "AssociativeMemory(20",
            "random_patterns(500": "random_patterns(20",
        }
        for old, new in changes.items():
            text = text.replace(old, new)
        return text

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["sh", "-ec", self.here(text)], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def start(self) -> None:
        variables, *commands = block("TLS=").splitlines()
        for command in commands:
            line = self.here(f"{variables}\n{command}")
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.processes.append(subprocess.Popen(["sh", "-ec", line], cwd=self.folder, **quiet))

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    pytest.importorskip("distributed")
    if shutil.which("openssl") is None:
        pytest.skip("no openssl is installed")
    cluster = Cluster(tmp_path_factory.mktemp("tls"))
    made = cluster.run(block("openssl"))
    assert made.returncode == 0, made.stderr
    (cluster.folder / "small.toml").write_text(SWEEP)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def table(path: Path) -> list[tuple[str, dict[str, object]]]:
    with Store(path) as store:
        return [(record.task.id, dict(record.result)) for record in store.records()]


@pytest.mark.slow
def test_a_sweep_over_tls_as_the_page_says(cluster):
    done = cluster.run(block("export DASK_"))
    assert done.returncode == 0, done.stderr
    alone = cluster.run("\nchanceline sweep run small.toml --store alone.sqlite --workers 1")
    assert alone.returncode == 0, alone.stderr
    assert table(cluster.folder / "best.sqlite") == table(cluster.folder / "alone.sqlite")
    assert len(table(cluster.folder / "best.sqlite")) == 6


@pytest.mark.slow
def test_from_python_as_the_page_says(cluster):
    script = cluster.folder / "memory.py"
    script.write_text(cluster.here(block("from distributed import Client\nfrom distributed.security", "python")))
    done = subprocess.run([sys.executable, script], cwd=cluster.folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(AssociativeMemory(20, fan_in=0.2).store(random_patterns(20, 0.6)))


@pytest.mark.slow
@pytest.mark.parametrize("stranger", ["nobody", "another authority", "without TLS"])
def test_strangers_are_refused_in_a_sentence(cluster, stranger, tmp_path):
    settings = {}
    if stranger == "another authority":
        elsewhere = Cluster(tmp_path)
        assert elsewhere.run(block("openssl")).returncode == 0
        settings = dict(re.findall(r"export (\w+)=(\S+)", block("export DASK_")))
        settings = {name: str(tmp_path / value) if value.endswith(".pem") else value for name, value in settings.items()}
    address = cluster.address.replace("tls", "tcp") if stranger == "without TLS" else cluster.address
    command = [sys.executable, "-m", "chanceline", "sweep", "run", str(cluster.folder / "small.toml"), "--store", "x.sqlite"]
    done = subprocess.run(
        [*command, "--engine", "dask", "--scheduler", address],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, env={**os.environ, **settings},
    )  # fmt: skip
    sentences = [line for line in done.stderr.splitlines() if line.startswith("chanceline: ")]
    assert (done.returncode, len(sentences)) == (2, 1), done.stderr
    assert "Traceback" not in done.stderr


def test_the_page_opens_no_port_without_certificates():
    """Whoever reaches a scheduler can run code there: every one on the page is on this machine only, or asks for TLS."""
    lines = [line for text in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in text.splitlines()]
    started = [line for line in lines if re.match(r"dask (scheduler|worker)", line)]
    assert len(started) == 4
    for line in started:
        assert "--host 127.0.0.1" in line or line.endswith("$TLS"), line
        assert "--no-dashboard" in line
