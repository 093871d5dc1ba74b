// A camera that turns about a point, with an axis that is up.

import { add, cross, dot, lookAt, projection, scaled, sub, unit } from "view/linear";

const HALF = Math.tan((15 * Math.PI) / 180); // half of the height at distance 1
const STEEPEST = 89.9; // degrees
const ACROSS = 75; // degrees, between a level direction and that of the camera

/** Returns the rows x, y, z of the rotation that turns the axis `up` to z, as render.py does. */
function upright(up) {
  const sign = up.startsWith("-") ? -1 : 1;
  const axis = "xyz".indexOf(up.at(-1));
  const z = [0, 0, 0], x = [0, 0, 0];
  z[axis] = sign;
  x[axis === 0 ? 1 : 0] = 1;
  return [x, cross(z, x), z];
}

export class Camera {
  constructor(up = "z") {
    this.axes = upright(up);
    this.perspective = true;
    this.azimuth = -60;
    this.elevation = 20;
    this.radius = 1;
    this.centre = [0, 0, 0];
    this.zoom = 1;
  }

  /** Shows a sphere around `centre`. */
  fit(centre, radius) {
    this.centre = centre;
    this.radius = Math.max(radius, 1e-9);
    this.zoom = 1;
  }

  /** Axes of the camera in the world: right, up, toward the viewer. */
  frame() {
    const a = (this.azimuth * Math.PI) / 180, e = (this.elevation * Math.PI) / 180;
    const [x, y, z] = this.axes;
    const flat = add(scaled(Math.cos(a), x), scaled(Math.sin(a), y));
    const toward = add(scaled(Math.cos(e), flat), scaled(Math.sin(e), z));
    const right = add(scaled(-Math.sin(a), x), scaled(Math.cos(a), y));
    return { right, up: cross(toward, right), toward };
  }

  /** Half of the height of the view at the centre. */
  half(aspect) {
    return (1.08 * this.radius) / this.zoom / Math.min(1, aspect);
  }

  distance(aspect) {
    return this.half(aspect) / HALF;
  }

  matrices(aspect) {
    const { right, up, toward } = this.frame();
    const far = this.distance(aspect), half = this.half(aspect);
    const away = this.perspective ? far : far + 4 * this.radius;
    const eye = add(this.centre, scaled(away, toward));
    const near = this.perspective ? Math.max(far - 6 * this.radius, 0.02 * far) : 1e-3 * far;
    const end = away + 8 * this.radius;
    return {
      eye,
      camera: lookAt(right, up, toward, eye),
      projection: projection(this.perspective, this.perspective ? HALF : half, aspect, near, end),
    };
  }

  /** Ray through a place of the picture, x and y from -1 to 1: origin and direction. */
  ray(x, y, aspect) {
    const { right, up, toward } = this.frame();
    const half = this.half(aspect), far = this.distance(aspect);
    const across = add(scaled(x * half * aspect, right), scaled(y * half, up));
    const plane = add(this.centre, across);
    if (!this.perspective) {
      return { origin: add(plane, scaled(far + 4 * this.radius, toward)), direction: scaled(-1, toward) };
    }
    const origin = add(this.centre, scaled(far, toward));
    return { origin, direction: unit(sub(plane, origin)) };
  }

  /** Point of a ray in the plane through `point` parallel to the picture. */
  onPlane(ray, point) {
    const { toward } = this.frame();
    const t = dot(sub(point, ray.origin), toward) / dot(ray.direction, toward);
    return add(ray.origin, scaled(t, ray.direction));
  }

  /** Turns by parts of the height of the picture. */
  orbit(dx, dy) {
    this.azimuth = (this.azimuth - 180 * dx) % 360;
    this.elevation = Math.min(STEEPEST, Math.max(-STEEPEST, this.elevation + 180 * dy));
  }

  pan(dx, dy, aspect) {
    const { right, up } = this.frame();
    const height = 2 * this.half(aspect);
    this.centre = sub(this.centre, scaled(dx * height, right));
    this.centre = add(this.centre, scaled(dy * height, up));
  }

  /** Zooms by a factor; the place x, y of the picture stays where it is. */
  approach(factor, x, y, aspect) {
    const before = this.half(aspect);
    this.zoom = Math.min(1e4, Math.max(0.05, this.zoom * factor));
    const { right, up } = this.frame();
    const rest = before - this.half(aspect);
    this.centre = add(this.centre, add(scaled(x * rest * aspect, right), scaled(y * rest, up)));
  }

  /** Looks across a direction of the world, unless that is steep. */
  across(way) {
    const [a, b, c] = this.axes.map((axis) => dot(axis, way));
    if (Math.hypot(a, b) > Math.abs(c)) this.azimuth = (Math.atan2(b, a) * 180) / Math.PI - ACROSS;
  }

  /** Looks along an axis: 0 x, 1 y, 2 z of the upright frame. */
  along(axis) {
    [this.azimuth, this.elevation] = [[0, 0], [-90, 0], [-90, STEEPEST]][axis];
  }
}
