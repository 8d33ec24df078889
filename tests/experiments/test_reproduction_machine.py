import hashlib
import os
import re
import threading
from pathlib import Path

import pytest

from hyperplanes.experiments.reproduction import machine
from hyperplanes.experiments.reproduction.machine import cpus_to_hold, held_to, machine_name
from hyperplanes.experiments.reproduction.methods import Clock

can_hold = pytest.mark.skipif(not machine.CAN_HOLD, reason="the system does not hold processes to CPUs")
BUSY_BYTES = bytes(50_000_000)


def hash_in_two_threads():
    """Hashing lets other threads run, so that two of them use two CPUs."""
    threads = [threading.Thread(target=lambda: hashlib.sha256(BUSY_BYTES).digest()) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@can_hold
def test_two_busy_threads_held_to_one_cpu_use_one():
    with held_to(1):
        assert cpus_to_hold() == 1
        clock = Clock()
        hash_in_two_threads()
        seconds, cpu_seconds = clock.read()
    assert cpu_seconds / seconds <= 1.1


@can_hold
def test_threads_that_were_there_before_are_held_and_all_are_let_go_afterwards():
    before = os.sched_getaffinity(0)
    stop, started = threading.Event(), []
    threads = [threading.Thread(target=stop.wait)]
    threads[0].start()
    try:
        with held_to(1):
            threads.append(threading.Thread(target=stop.wait))
            threads[1].start()
            started = [thread.native_id for thread in threads]
            assert all(len(os.sched_getaffinity(thread)) == 1 for thread in (0, *started))
        assert all(os.sched_getaffinity(thread) == before for thread in (0, *started))
    finally:
        stop.set()


@can_hold
def test_what_was_held_is_let_go_after_an_error():
    before = os.sched_getaffinity(0)
    with pytest.raises(ZeroDivisionError), held_to(1):
        raise ZeroDivisionError
    assert os.sched_getaffinity(0) == before


def test_more_cpus_than_there_are_is_an_error_and_none_changes_nothing():
    with pytest.raises(OSError, match="1000 CPUs are needed"), held_to(1000):
        pass
    with held_to(None):
        pass


def test_a_system_that_cannot_hold_has_no_cpus_to_hold_to(monkeypatch):
    monkeypatch.setattr(machine, "CAN_HOLD", False)
    assert cpus_to_hold() == 0


def test_the_name_says_kind_and_number_of_cpus_and_no_host():
    name = machine_name()
    assert re.search(r", \d+ CPUs?$", name)
    assert os.uname().nodename not in name


def test_the_name_of_a_machine_without_cpuinfo_is_its_architecture(monkeypatch):
    def refuse(self, **options):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    assert "arm64, " in machine_name()
