"""Places: one per GPU that the caller may see."""

import pytest

from kernel_gate.devices.base import DeviceError
from kernel_gate.fleet.places import emulated_places, places, visible_gpus

GPUS = ["GPU-aa11", "GPU-ab22", "GPU-cc33"]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (None, GPUS),
        ("2,0", ["GPU-cc33", "GPU-aa11"]),
        (" 1 ", ["GPU-ab22"]),
        ("GPU-c", ["GPU-cc33"]),
        ("", []),
        ("0,7,1", ["GPU-aa11"]),
        ("GPU-a", []),
        ("1,1,2", ["GPU-ab22"]),
        ("-1", []),
    ],
    ids=["unset", "order", "spaces", "uuid", "empty", "ends-at-a-wrong-one", "ambiguous", "twice", "none"],
)
def test_the_gpus_that_cuda_visible_devices_leaves(setting, expected):
    assert visible_gpus(GPUS, setting) == expected


def test_the_emulated_device_has_places_without_a_gpu():
    assert [p.name for p in emulated_places(2)] == ["emulated 0", "emulated 1"]
    assert len(places("emulated")) >= 1


def test_without_a_gpu_cuda_is_missing_and_auto_is_emulated(monkeypatch):
    def none():
        raise DeviceError("no GPU can be used: none here")

    monkeypatch.setattr("kernel_gate.fleet.places.gpu_places", none)
    with pytest.raises(DeviceError, match="none here"):
        places("cuda")
    assert places("auto")[0].name == "emulated 0"
