// The tool of a haptic session, moved by pointer, wheel, touch or gamepad.
//
// A page that holds the tool sends, some 60 times a second, how far it has moved and turned since a
// press, also if it rests; a page that sends nothing, or is hidden, is a silent device.  Drags on
// the tool move it in the plane of the picture at its depth; all other gestures are those of the
// camera.

import { add, cross, dot, length, scaled, sub, turned } from "view/linear";

const BEAT = 16; // ms; by a clock, because a picture without a GPU takes longer than a silence
const NEAR = 16; // pixels from the grip that belong to the tool
const DEAD = 0.15; // of the way of a stick
const PACE = 0.5; // heights of the picture per second, at full deflection
const SPIN = 1.6; // rad/s, likewise
const STEP = 2e-4; // heights of the picture, per unit of the wheel
const ROLL = 1.5e-3; // rad, likewise
const NUDGE = 0.01; // heights of the picture, by a key
const TILT = 0.03; // rad, likewise
const WAYS = {
  ArrowLeft: [-1, 0, 0], ArrowRight: [1, 0, 0], ArrowDown: [0, -1, 0], ArrowUp: [0, 1, 0],
  PageUp: [0, 0, -1], PageDown: [0, 0, 1],
};

const HINTS = [
  "Drag the tool: it follows the pointer, and contact holds it back.",
  "Wheel: nearer and farther. Shift and drag: turn. Shift and wheel: roll. Keys: arrows, page up and down, with shift to turn; u upright, Escape release. A drag beside the tool turns the camera.",
];

/** Returns the product of two quaternions w, x, y, z, as a unit quaternion. */
function product([w, ...a], [v, ...b]) {
  const out = [w * v - dot(a, b), ...add(add(scaled(w, b), scaled(v, a)), cross(a, b))];
  return scaled4(1 / Math.hypot(...out), out);
}

const scaled4 = (s, q) => q.map((x) => s * x);
const about = (axis, angle) => [Math.cos(angle / 2), ...scaled(Math.sin(angle / 2), axis)];

/** Returns the 24 rotations between frames whose axes are those of the world. */
function uprights() {
  const found = [];
  const half = Math.SQRT1_2, signs = [1, -1];
  for (let k = 0; k < 4; ++k) found.push([0, 1, 2, 3].map((i) => (i === k ? 1 : 0)));
  for (const a of signs) for (const b of signs) for (const c of signs) found.push([0.5, 0.5 * a, 0.5 * b, 0.5 * c]);
  for (let i = 0; i < 4; ++i) {
    for (let j = i + 1; j < 4; ++j) {
      for (const a of signs) found.push([0, 1, 2, 3].map((k) => (k === i ? half : k === j ? a * half : 0)));
    }
  }
  return found;
}

/** Returns the distance along a ray to the first triangle; null: it meets none. */
export function meets(origin, direction, vertices, triangles) {
  const [ox, oy, oz] = origin, [dx, dy, dz] = direction;
  let first = Infinity;
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
    const ax = vertices[a], ay = vertices[a + 1], az = vertices[a + 2];
    const ux = vertices[b] - ax, uy = vertices[b + 1] - ay, uz = vertices[b + 2] - az;
    const vx = vertices[c] - ax, vy = vertices[c + 1] - ay, vz = vertices[c + 2] - az;
    const px = dy * vz - dz * vy, py = dz * vx - dx * vz, pz = dx * vy - dy * vx;
    const det = ux * px + uy * py + uz * pz;
    if (det === 0) continue;
    const sx = ox - ax, sy = oy - ay, sz = oz - az;
    const u = (sx * px + sy * py + sz * pz) / det;
    if (!(u >= 0 && u <= 1)) continue;
    const qx = sy * uz - sz * uy, qy = sz * ux - sx * uz, qz = sx * uy - sy * ux;
    const v = (dx * qx + dy * qy + dz * qz) / det;
    if (!(v >= 0 && u + v <= 1)) continue;
    const at = (vx * qx + vy * qy + vz * qz) / det;
    if (at > 0 && at < first) first = at;
  }
  return first < Infinity ? first : null;
}

export class Hand {
  constructor(canvas, page) {
    this.canvas = canvas;
    this.page = page;
    this.card = document.getElementById("hand");
    this.wanted = this.held = false;
    this.pointer = null; // that drags the tool
    this.own = new Set(); // pointers whose presses the camera has not seen
    this.turning = false; // drags turn the tool, for pointers without a keyboard
    this.makeCard();
    // before the gestures of the camera, which do not see what is done to the tool
    const own = (name, handle, options = {}) =>
      canvas.addEventListener(name, (event) => {
        if (this.held && handle(event)) event.stopImmediatePropagation();
      }, options);
    own("pointerdown", (event) => this.press(event));
    own("pointermove", (event) => this.drag(event));
    own("pointerup", (event) => this.lift(event));
    own("pointercancel", (event) => this.lift(event));
    own("wheel", (event) => this.wheel(event), { passive: false });
    own("dblclick", (event) => this.hit(this.place(event)) !== null);
    window.addEventListener("keydown", (event) => this.key(event));
  }

  makeCard() {
    const made = (kind, text, className, action) => {
      const one = document.createElement(kind);
      one.append(...[text].flat());
      one.className = className;
      if (action) {
        one.type = "button";
        one.addEventListener("click", ({ detail }) => {
          action();
          if (detail || !one.offsetParent) this.canvas.focus();
        });
      }
      return one;
    };
    const key = (name) => {
      const one = document.createElement("kbd");
      one.textContent = ` ${name}`;
      return one;
    };
    this.take = made("button", ["Hold the tool", key("h")], "main", () => this.toggle());
    this.free = made("button", "Release", "", () => this.release());
    this.free.title = "Release the tool, which stays where it is (Escape)";
    this.turner = made("button", "Turn", "", () => this.setTurning(!this.turning));
    this.turner.title = "Drags turn the tool in place of moving it";
    const upright = made("button", "Upright", "", () => this.upright());
    upright.title = "Turn the tool along the axes of the world (u)";
    this.row = made("div", [this.turner, upright, this.free], "");
    this.hints = HINTS.map((text) => made("p", text, ""));
    this.note = made("p", "", "");
    this.card.append(this.take, this.row, ...this.hints, this.note);
    this.setTurning(false);
    this.show();
  }

  show() {
    this.take.hidden = this.held;
    this.row.hidden = !this.held;
    for (const one of this.hints) one.hidden = !this.held;
    this.note.hidden = !this.note.textContent;
    this.card.classList.toggle("held", this.held);
    if (!this.held) this.canvas.style.cursor = "";
  }

  say(text) {
    this.note.textContent = text;
    this.show();
  }

  setTurning(on) {
    this.turning = on;
    this.turner.setAttribute("aria-pressed", on);
  }

  // ---- what the view says

  setScene(scene) {
    this.tool = scene.tool ?? null;
    this.card.hidden = this.tool === null;
    this.drop("");
  }

  setFrame(frame) {
    if (this.tool === null) return;
    this.grip = frame.grip ? [...frame.grip] : null;
    const others = frame.taken || (frame.held && !frame.holds);
    if (this.wanted && frame.holds && !this.held) {
      this.held = true;
      this.say("");
      this.clock = setInterval(() => this.beat(performance.now()), BEAT);
    } else if (this.wanted && !frame.holds && (this.held || others)) {
      // taken by others, or this page was silent for too long
      this.drop(this.held ? "The tool was released: this page did not draw." : "");
    }
    if (!this.wanted) {
      this.take.disabled = others;
      const text = "Another page holds the tool.";
      if (others !== (this.note.textContent === text)) this.say(others ? text : "");
    }
  }

  drop(text) {
    clearInterval(this.clock);
    this.wanted = this.held = false;
    this.pointer = this.anchor = null;
    this.own.clear();
    this.say(text);
  }

  // ---- hold and release

  toggle() {
    if (this.wanted) this.release();
    else if (this.tool !== null && !this.take.disabled) {
      this.wanted = true;
      this.begin();
    }
  }

  /** Holds the tool where it is now, also if it is held already. */
  begin() {
    this.moved = [0, 0, 0];
    this.turned = [1, 0, 0, 0];
    this.buttons = 0;
    this.page.socket.send({ kind: "hold" });
  }

  release() {
    if (!this.wanted) return;
    this.page.socket.send({ kind: "release" });
    this.drop("");
  }

  key(event) {
    const field = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (field || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.tool === null || document.getElementById("help").open) return;
    if (this.held && event.key in WAYS) {
      this.nudge(WAYS[event.key], event.shiftKey);
      event.preventDefault();
      event.stopImmediatePropagation();
    }
    if (event.repeat) return;
    if (event.key === "h") this.toggle();
    else if (event.key === "u") this.upright();
    else if (event.key === "Escape") this.release();
  }

  /** Moves by a gamepad, and sends a message, also if nothing has moved. */
  beat(now) {
    if (document.hidden) return;
    this.pad(Math.min(0.1, (now - (this.last ?? now)) / 1000));
    this.last = now;
    this.look();
    const [buttons, moved] = [this.buttons | this.padded, this.moved];
    this.page.socket.send({ kind: "hand", moved, turned: this.turned, buttons });
  }

  // ---- motions

  move(way) {
    this.moved = add(this.moved, way);
    if (this.anchor) this.anchor = add(this.anchor, way);
  }

  turn(axis, angle) {
    if (angle) this.turned = product(about(axis, angle), this.turned);
  }

  /** Moves or turns the tool along the axes of the picture, by a key. */
  nudge([a, b, c], turns) {
    const { right, up, toward } = this.page.camera.frame();
    if (turns) {
      this.turn(up, TILT * a);
      this.turn(right, -TILT * b);
      this.turn(toward, -TILT * c);
      return;
    }
    const step = NUDGE * this.height(this.aspect());
    for (const [by, axis] of [[a, right], [b, up], [c, toward]]) this.move(scaled(step * by, axis));
  }

  /** Turns the tool so that its axes are those of the world, the nearest ones. */
  upright() {
    const body = this.page.drawing.bodies[this.tool];
    if (!this.held || !body) return;
    const [x, y, z, w] = body.turn, now = [w, x, y, z];
    const likeness = (q) => Math.abs(q.reduce((sum, one, k) => sum + one * now[k], 0));
    const nearest = uprights().reduce((a, b) => (likeness(b) > likeness(a) ? b : a));
    this.begin();
    this.turned = product(nearest, [w, -x, -y, -z]);
  }

  height(aspect) {
    return 2 * this.page.camera.half(aspect);
  }

  pad(seconds) {
    this.padded = 0;
    for (const one of navigator.getGamepads?.() ?? []) {
      if (!one?.connected) continue;
      const axis = (k) => (Math.abs(one.axes[k] ?? 0) > DEAD ? one.axes[k] : 0);
      const pressed = (k) => one.buttons[k]?.value ?? 0;
      const { right, up, toward } = this.page.camera.frame();
      const way = PACE * seconds * this.height(this.aspect());
      this.move(scaled(way * axis(0), right));
      this.move(scaled(-way * axis(1), up));
      this.move(scaled(way * (pressed(6) - pressed(7)), toward));
      this.turn(up, SPIN * seconds * axis(2));
      this.turn(right, SPIN * seconds * axis(3));
      this.turn(toward, SPIN * seconds * (pressed(4) - pressed(5)));
      for (let k = 0; k < 4; ++k) if (pressed(k) > 0.5) this.padded |= 1 << k;
    }
  }

  // ---- pointer

  aspect() {
    return this.canvas.clientWidth / this.canvas.clientHeight;
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return {
      x: (2 * (event.clientX - box.left)) / box.width - 1,
      y: 1 - (2 * (event.clientY - box.top)) / box.height,
      aspect: box.width / box.height,
      height: box.height,
    };
  }

  /** Point of the tool under the pointer, or its grip if that is near; null: beside the tool. */
  hit({ x, y, aspect, height }) {
    const body = this.page.drawing.bodies[this.tool];
    if (!body || !this.grip) return null;
    const ray = this.page.camera.ray(x, y, aspect);
    const back = [-body.turn[0], -body.turn[1], -body.turn[2], body.turn[3]];
    const from = turned(back, sub(ray.origin, body.place));
    const { vertices, triangles } = body.given;
    const at = meets(from, turned(back, ray.direction), vertices, triangles);
    if (at !== null) return add(ray.origin, scaled(at, ray.direction));
    const near = this.page.camera.onPlane(ray, this.grip);
    const pixels = (length(sub(near, this.grip)) / this.height(aspect)) * height;
    return pixels < NEAR ? near : null;
  }

  press(event) {
    // also another finger than that on the tool
    const own = this.pointer !== null || this.grasp(event);
    if (own) this.own.add(event.pointerId);
    return own;
  }

  /** Begins to drag the tool, if the pointer is on it. */
  grasp(event) {
    if (event.button !== 0 || event.ctrlKey) return false;
    const at = this.hit(this.place(event));
    if (!at) return false;
    this.canvas.focus();
    this.canvas.setPointerCapture(event.pointerId);
    this.pointer = event.pointerId;
    this.anchor = at;
    this.before = { x: event.clientX, y: event.clientY };
    this.begin();
    return true;
  }

  drag(event) {
    if (!this.own.has(event.pointerId)) {
      if (this.pointer === null) this.seen = event.buttons ? null : this.place(event);
      return false;
    }
    if (event.pointerId !== this.pointer) return true;
    // it was lifted while the page was hidden
    if (!event.buttons) return this.lift(event);
    // the other buttons of a mouse are those of the device
    this.buttons = event.buttons >> 1;
    const place = this.place(event), { camera } = this.page;
    if (event.shiftKey || this.turning) {
      const { right, up } = camera.frame(), angle = Math.PI / place.height;
      this.turn(up, angle * (event.clientX - this.before.x));
      this.turn(right, angle * (event.clientY - this.before.y));
      // motion continues from where the pointer is then
      this.anchor = camera.onPlane(camera.ray(place.x, place.y, place.aspect), this.anchor);
    } else {
      const to = camera.onPlane(camera.ray(place.x, place.y, place.aspect), this.anchor);
      this.move(sub(to, this.anchor));
    }
    this.before = { x: event.clientX, y: event.clientY };
    return true;
  }

  lift(event) {
    if (event.pointerId === this.pointer) {
      this.pointer = this.anchor = null;
      this.buttons = 0;
    }
    return this.own.delete(event.pointerId);
  }

  wheel(event) {
    const place = this.place(event);
    if (this.pointer === null && !this.hit(place)) return false;
    event.preventDefault();
    const { toward } = this.page.camera.frame();
    // some systems turn the wheel sideways while shift is pressed
    const by = (event.deltaMode === 1 ? 16 : 1) * (event.deltaY || event.deltaX);
    if (event.shiftKey) this.turn(toward, -ROLL * by);
    else this.move(scaled(STEP * by * this.height(place.aspect), toward));
    return true;
  }

  /** Shows by the cursor that the tool is under the pointer. */
  look() {
    if (this.pointer !== null) this.canvas.style.cursor = "grabbing";
    else if (this.seen) {
      this.canvas.style.cursor = this.hit(this.seen) ? "move" : "";
      this.seen = null;
    }
  }
}
