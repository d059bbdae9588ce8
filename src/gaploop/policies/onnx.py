"""A policy as an ONNX graph: one thread, CPU, the same bits every time."""

from pathlib import Path

import numpy as np

from gaploop.core import ContractError, InputError, Mend, PolicyContract
from gaploop.policies.folder import locate, read_contract
from gaploop.policies.mend import read_mends


class OnnxPolicy:
    """An ONNX graph with its contract. Implements `gaploop.core.protocols.Policy`.

    The graph has one input (n, history * frame) float32 and one output (n, H, a)
    float32, n free.
    """

    def __init__(self, graph: Path, contract: PolicyContract, mends: tuple[Mend, ...] = ()) -> None:
        """Start a session on `graph`.

        Raises:
          InputError: when the file is no ONNX model.
          ContractError: when its shapes are not those of the contract.
        """
        # imported here: it takes a tenth of a second, and --help should not wait for it
        import onnxruntime as ort

        options = ort.SessionOptions()
        # one thread: the loop runs one process a core, and sums keep one order
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.use_deterministic_compute = True
        options.log_severity_level = 4
        try:
            self._session = ort.InferenceSession(
                str(graph), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exception types share no public base
            raise InputError(
                f"{graph} is no ONNX model that can run here: {_first_line(error)}.",
                hint="Export the policy again.",
            ) from error
        self.contract, self.mends = contract, mends
        self._graph = graph
        self._width = contract.history * len(contract.columns)
        self._check_shapes()
        self._input = self._session.get_inputs()[0].name

    @classmethod
    def open(cls, path: Path, *, mends: bool = True) -> "OnnxPolicy":
        """The policy of a folder or of an ONNX file with policy.json beside it.

        Raises:
          InputError, ContractError: see `read_contract` and the constructor.
        """
        contract = read_contract(path)
        return cls(locate(path)[0], contract, read_mends(path) if mends else ())

    def chunk(self, observation: np.ndarray) -> np.ndarray:
        """(n, history * frame) to (n, H, a) float32, in the robot's units.

        Raises:
          ContractError: for observations of another width.
        """
        x = np.ascontiguousarray(observation, dtype=np.float32)
        if x.ndim != 2 or x.shape[1] != self._width:
            raise ContractError(
                f"{self._graph} was fed observations of shape {x.shape}; expected (n, "
                f"{self._width}): {self.contract.history} frames of {len(self.contract.columns)}."
            )
        if not len(x):
            return np.empty((0, self.contract.chunk, self._session.get_outputs()[0].shape[2]), "f4")
        return np.asarray(self._session.run(None, {self._input: x})[0])

    def _check_shapes(self) -> None:
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        wrong = ""
        if len(inputs) != 1 or len(outputs) != 1:
            wrong = f"has {len(inputs)} inputs and {len(outputs)} outputs; expected one of each"
        elif inputs[0].type != "tensor(float)" or outputs[0].type != "tensor(float)":
            wrong = f"reads {inputs[0].type} and answers {outputs[0].type}; expected tensor(float)"
        elif len(inputs[0].shape) != 2 or _off(inputs[0].shape[1], self._width):
            wrong = f"reads {inputs[0].shape}; its contract says (n, {self._width})"
        elif len(outputs[0].shape) != 3 or _off(outputs[0].shape[1], self.contract.chunk):
            wrong = f"answers {outputs[0].shape}; its contract says (n, {self.contract.chunk}, a)"
        elif self.contract.action_low and _off(
            outputs[0].shape[2], a := len(self.contract.action_low)
        ):
            wrong = f"answers {outputs[0].shape}; its contract says {a} actions a step"
        elif isinstance(inputs[0].shape[0], int):
            wrong = f"takes exactly {inputs[0].shape[0]} observations; expected any number"
        if wrong:
            raise ContractError(
                f"{self._graph} {wrong}.", hint="Export the policy again, graph and card together."
            )


def _off(size: object, expected: int) -> bool:
    """Whether a fixed size differs; a free one (a name or None) is checked by the call."""
    return isinstance(size, int) and size != expected


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "no reason"
