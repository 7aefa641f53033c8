"""Learned schemes: their networks against a forward pass in NumPy, with the weights that their authors publish."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import cellcc
import numpy as np
import pytest
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def models() -> Path | None:
    """The folder of the published weights: CELLCC_MODELS, or `models` next to the folder of the real traces."""
    traces = os.environ.get("CELLCC_TRACES")
    folder = os.environ.get("CELLCC_MODELS") or (traces and str(Path(traces).parent / "models"))
    if not folder or not Path(folder).is_dir():
        print("left out: neither CELLCC_MODELS nor CELLCC_TRACES leads to published weights", file=sys.stderr)
        return None
    return Path(folder)


def tensors(file: Path) -> dict[str, NDArray[np.float32]]:
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    return {
        name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / (1.0 + np.exp(-values))


def test_orcas_action_is_that_of_a_forward_pass_in_numpy(models):
    if models is None:
        return
    file = models / "orca" / "actor.safetensors"
    weights = {name: values.astype(np.float64) for name, values in tensors(file).items()}

    def layer(values, dense, norm):
        values = values @ weights[f"{dense}.w"] + weights[f"{dense}.b"]
        values = (values - weights[f"{norm}.mean"]) / np.sqrt(weights[f"{norm}.var"] + 1e-3) + weights[f"{norm}.beta"]
        return np.where(values > 0, values, 0.2 * values)

    policy = cellcc.Policy(f"orca(model={file})")
    states = np.random.default_rng(1).random((1000, 70), dtype=np.float32)
    hidden = layer(layer(states.astype(np.float64), "fc1", "bn1"), "fc2", "bn2")
    expected = np.tanh(hidden @ weights["out.w"] + weights["out.b"])
    given = np.array([policy.outputs(state) for state in states])
    assert np.ptp(expected) > 0.5, "the states tell the actions apart"
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-5)


def test_indigos_decisions_are_those_of_an_lstm_in_numpy(models, tmp_path):
    if models is None:
        return
    file = tmp_path / "indigo.safetensors"
    convert = ROOT / "tools" / "convert-policy"
    subprocess.run([sys.executable, convert, "indigo", models / "indigo" / "model", file], check=True)
    weights = {name: values.astype(np.float64) for name, values in tensors(file).items()}
    policy = cellcc.Policy(f"indigo(model={file})")
    random = np.random.default_rng(2)
    cell, output, action = np.zeros(32), np.zeros(32), 4
    taken = set()
    # Delay, rates and window walk over what Indigo sees, each with the action before it.
    state = np.array([0.1, 0.1, 0.1, 0.02])
    for _ in range(1000):
        state = np.clip(state + random.normal(0, [0.05, 0.05, 0.05, 0.01]), 0, 1)
        observation = np.append(state, np.eye(5)[action]).astype(np.float32)
        gates = np.append(observation.astype(np.float64), output) @ weights["lstm.w"] + weights["lstm.b"]
        i, j, f, o = np.split(gates, 4)
        cell = cell * sigmoid(f + 1.0) + sigmoid(i) * np.tanh(j)
        output = np.tanh(cell) * sigmoid(o)
        scores = output @ weights["out.w"] + weights["out.b"]
        given = policy.outputs(observation)
        action = int(np.argmax(scores))
        assert int(np.argmax(given)) == action
        np.testing.assert_allclose(given, scores, rtol=0, atol=1e-4)
        taken.add(action)
    assert len(taken) >= 4, f"only {taken} were taken"


def test_a_policy_runs_in_compare_and_what_does_not_fit_is_refused(tmp_path):
    numbers = np.array([0, 0, 0, -1, 0, 0, 0.125], dtype="<f4").tobytes()
    card = {"cellcc": "1", "agent": "plain", "interval": "20ms", "layers": "dense out", "data": "none", "seed": "1"}
    header = {
        "__metadata__": card,
        "out.w": {"dtype": "F32", "shape": [6, 1], "data_offsets": [0, 24]},
        "out.b": {"dtype": "F32", "shape": [1], "data_offsets": [24, 28]},
    }
    text = json.dumps(header).encode()
    file = tmp_path / "policy.safetensors"
    file.write_bytes(struct.pack("<Q", len(text)) + text + numbers)
    scheme = f"learned(model={file})"
    assert cellcc.Policy(scheme).outputs([0, 0, 0, 0.5, 0, 0]) == [-0.375]
    with pytest.raises(cellcc.InputError, match="6 numbers"):
        cellcc.Policy(scheme).outputs([0.0])
    with pytest.raises(cellcc.InputError, match="has no network"):
        cellcc.Policy("cubic")
    result = cellcc.compare([scheme], ["rate=12Mbit/s"], duration="5s")
    used = [run.metrics["utilisation"] for run in result if run.scheme == scheme]
    assert used[0] > 0.9
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(cellcc.InputError, match="damaged"):
        cellcc.compare([scheme], ["rate=12Mbit/s"], duration="5s")
