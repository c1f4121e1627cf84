"""These tests write thousands of small files: that they reach the disk is tested elsewhere."""

import os

import pytest


@pytest.fixture(autouse=True)
def no_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
