// Vectors of three numbers, quaternions x, y, z, w, and column-major 4 x 4 matrices.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scaled = (s, a) => [s * a[0], s * a[1], s * a[2]];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const length = (a) => Math.hypot(a[0], a[1], a[2]);
export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

export function unit(a) {
  const n = length(a);
  return n > 0 ? scaled(1 / n, a) : [0, 0, 0];
}

/** Returns the vector turned by a quaternion. */
export function turned(q, v) {
  const t = scaled(2, cross(q, v));
  return add(add(v, scaled(q[3], t)), cross(q, t));
}

/** Returns the matrix that maps the world to the frame of the camera: rows right, up, toward. */
export function lookAt(right, up, toward, eye) {
  return new Float32Array([
    right[0], up[0], toward[0], 0,
    right[1], up[1], toward[1], 0,
    right[2], up[2], toward[2], 0,
    -dot(right, eye), -dot(up, eye), -dot(toward, eye), 1,
  ]);
}

/** Returns a projection; half: half of the height at distance 1 (perspective) or anywhere. */
export function projection(perspective, half, aspect, near, far) {
  const a = 1 / (half * aspect), b = 1 / half, d = near - far;
  return new Float32Array(
    perspective
      ? [a, 0, 0, 0, 0, b, 0, 0, 0, 0, (far + near) / d, -1, 0, 0, (2 * far * near) / d, 0]
      : [a, 0, 0, 0, 0, b, 0, 0, 0, 0, 2 / d, 0, 0, 0, (far + near) / d, 1],
  );
}
