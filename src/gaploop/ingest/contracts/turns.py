"""Turns as numbers: quaternions, rotation vectors, and how one attitude leads to the next."""

from typing import Final

import numpy as np

ORDERS: Final = {"wxyz": (0, 1, 2, 3), "xyzw": (3, 0, 1, 2)}
"""Name of an order to the columns of w, x, y, z in it."""


def ordered(values: np.ndarray, order: str) -> np.ndarray:
    """(T, 4) w x y z, of norm one, from columns stored in `order`."""
    q = values[:, ORDERS[order]]
    return q / np.maximum(np.linalg.norm(q, axis=1, keepdims=True), 1e-12)


def stored(q: np.ndarray, order: str) -> np.ndarray:
    """(T, 4) columns in `order` from w x y z."""
    out = np.empty_like(q)
    out[:, ORDERS[order]] = q
    return out


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(T, 4) a b."""
    aw, ax, ay, az = a.T
    bw, bx, by, bz = b.T
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=1,
    )


def vectors(q: np.ndarray, stride: int, *, body: bool = False) -> np.ndarray:
    """(T - stride, 3) rad: rotation vector from row t to t + stride, in base or body axes."""
    inverse = q[:-stride] * np.array([1.0, -1.0, -1.0, -1.0])
    step = product(inverse, q[stride:]) if body else product(q[stride:], inverse)
    step = step * np.where(step[:, :1] < 0, -1.0, 1.0)
    size = np.linalg.norm(step[:, 1:], axis=1, keepdims=True)
    angle = 2.0 * np.arctan2(size, step[:, :1])
    return np.where(size > 1e-9, angle * step[:, 1:] / np.maximum(size, 1e-12), 2.0 * step[:, 1:])


def from_angles(values: np.ndarray, kind: str) -> np.ndarray:
    """(T, 4) w x y z of three angles in rad.

    kind: `axis_angle`, a rotation vector; `rpy`, about the fixed axes x, then y, then z; `ypr`,
    the same told yaw first; `euler_xyz`, about the moving axes x, then y, then z.
    """
    if kind == "axis_angle":
        size = np.linalg.norm(values, axis=1, keepdims=True)
        axis = values / np.maximum(size, 1e-12)
        return np.hstack([np.cos(size / 2), axis * np.sin(size / 2)])
    a, b, c = (_about(values[:, i], i if kind != "ypr" else 2 - i) for i in range(3))
    return product(product(c, b), a) if kind == "rpy" else product(product(a, b), c)


def _about(angle: np.ndarray, axis: int) -> np.ndarray:
    q = np.zeros((len(angle), 4))
    q[:, 0], q[:, 1 + axis] = np.cos(angle / 2), np.sin(angle / 2)
    return q
