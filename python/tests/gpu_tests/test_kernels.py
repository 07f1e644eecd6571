"""Tests that are recorded: what each does on the GPU is known."""

import gpu
import pytest


def test_three_steps():
    for _ in range(3):
        gpu.step()


def test_nothing_on_the_gpu():
    assert 1 + 1 == 2


@pytest.mark.gpu_time(max_ms=10)
def test_below_its_limit():
    gpu.step()


@pytest.mark.gpu_time(max_ms=0.1)
def test_above_its_limit():
    gpu.step()


def test_above_the_limit_of_its_fixture(gpuprof_threshold):
    gpuprof_threshold(0.2)
    gpu.step()


def test_that_fails_by_itself():
    gpu.step()
    raise ValueError("of the test")


@pytest.mark.parametrize("name", ["with 'quotes' [and] spaces", "with/a slash"])
def test_of_a_strange_name(name):
    gpu.step()
