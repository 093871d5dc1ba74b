// The page of a view: puts camera, drawing, controls and the source of frames together.

import { Drawing, stops } from "view/bodies";
import { Camera } from "view/camera";
import { listen } from "view/gestures";
import { Hand } from "view/hand";
import { length, sub } from "view/linear";
import { Panel } from "view/panel";
import { Clip, Swing } from "view/player";
import { Sketch } from "view/sketch";
import { Socket, recorded } from "view/source";

const canvas = document.getElementById("picture");
const LINES = { light: [0.12, 0.14, 0.17, 0.35], dark: [0.02, 0.03, 0.04, 0.55] };
const SLOW = 25; // ms of a picture, from which smooth edges are left out
const REST = 150; // ms without motion
const BACKDROP = { light: 1, dark: 0.35 }; // brightness of the ground
const BACKGROUND = { light: [0.969, 0.973, 0.98], dark: [0.106, 0.118, 0.137] };

class Page {
  constructor() {
    this.panel = new Panel({
      toggle: () => this.toggle(),
      step: () => this.step(1),
      reset: () => this.reset(),
      speed: (value) => this.setSpeed(value),
      seek: (part) => this.seek(part),
      fit: () => this.fit(),
      wire: () => this.setWire(!this.drawing.wire),
      project: () => this.project(),
      theme: () => this.setTheme(this.theme === "dark" ? "light" : "dark"),
      picture: () => this.savePicture(),
      film: () => this.film(),
      help: () => this.panel.help(),
    });
    this.sketch = new Sketch((message) => this.socket?.send(message));
    this.drawing = new Drawing(canvas);
    this.camera = new Camera();
    this.frame = null;
    this.placed = false; // the camera has been aimed at the first poses
    this.dirty = true;
    this.spent = []; // ms between frames that were drawn one after another
    this.frames = 0;
    const wished = new URLSearchParams(location.search).get("theme");
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.setTheme(wished ?? (dark.matches ? "dark" : "light"));
    dark.addEventListener("change", () => this.setTheme(dark.matches ? "dark" : "light"));
    new ResizeObserver(() => this.resize()).observe(canvas);
    canvas.addEventListener("webglcontextlost", () => location.reload());
    this.hand = new Hand(canvas, this);
    listen(canvas, this);
    const own = document.getElementById("recorded");
    if (own) recorded(own).then((scene) => this.setScene(scene)).catch(failed);
    else {
      this.socket = new Socket({
        scene: (scene) => this.setScene(scene),
        frame: (frame) => this.setFrame(frame),
        held: (point) => this.setHeld(point),
        lost: (reason) => this.lost(reason),
      });
    }
    requestAnimationFrame((now) => this.turn(now));
  }

  // ---- what is shown

  setScene(scene) {
    const first = !this.scene;
    this.scene = scene;
    this.frame = null; // that of another scene
    this.panel.say("");
    this.drawing.setScene(scene);
    this.live = scene.controls;
    this.player = null;
    const body = scene.bodies[0];
    if (scene.clip) this.player = new Clip(scene.clip);
    else if (scene.oscillates) this.player = new Swing(this.drawing.bodies[0].r, scene.frequencies);
    const swings = this.player instanceof Swing;
    if (first) this.camera = new Camera(scene.up);
    this.panel.build({
      plays: this.live || this.player !== null,
      steps: this.live || this.player instanceof Clip,
      resets: this.player !== null || (this.socket ? scene.resets : this.rests()),
      seeks: this.player instanceof Clip,
      films: typeof MediaRecorder !== "undefined",
    });
    this.panel.setTitle(scene.title, scene.texts);
    this.hand.setScene(scene);
    document.title = `${scene.title} – reducedfem`;
    // sliders are for the shapes of one body
    const labels = this.player instanceof Clip || scene.bodies.length !== 1 ? [] : body.labels;
    this.panel.setSliders(labels.map((label, k) => this.slider(label, k)),
      body?.ends ? "Handles" : `${labels.length} shapes`, swings || Boolean(body?.ends),
      (k, value) => this.setShape(k, value));
    if (swings && labels.length) {
      this.setShape(0, (0.12 * this.size()) / (body.scales[0] || 1));
      this.player.playing = true;
    }
    this.panel.setPlaying(this.player?.playing ?? false);
    this.setWire(this.drawing.wire);
    if (this.player instanceof Clip) this.showPlayer();
    if (first) this.fit(scene.whole);
    this.showLegend();
    this.dirty = true;
  }

  /** Returns the slider of a coordinate of the first body. */
  slider(label, k) {
    const { bodies: [{ ends, units, scales }], marks } = this.scene;
    // marks are named as the sliders begin
    const colour = ends ? marks.find((one) => one.name.split(":")[0] === label.split(":")[0])?.colour : null;
    if (ends) return { label, most: ends[k], scale: 1, unit: units[k], colour };
    // a full slider displaces some vertex by a fifth of the size of the body
    const scale = scales?.[k] ?? 0;
    return { label, most: scale > 0 ? (0.2 * this.size()) / scale : 1, scale, unit: "m", colour };
  }

  setFrame(frame) {
    const before = this.frame;
    this.frame = frame;
    spread(frame, this.drawing.bodies);
    this.drawing.setFrame(frame);
    const now = performance.now();
    this.dirty ||= this.drawing.follow(this.received ? (now - this.received) / 1000 : 0);
    this.received = now;
    // the first poses say where bodies are
    if (!this.placed && frame.bodies.some((one) => one.position)) this.aim();
    this.hand.setFrame(frame);
    if (this.live) {
      this.panel.setPlaying(frame.playing);
      this.panel.setSpeed(frame.speed);
    }
    this.sketch.show(frame.sketch);
    const amounts = frame.amounts ?? (frame.bodies.length === 1 ? frame.bodies[0].q : null);
    if (amounts) this.panel.setAmounts(amounts);
    const grey = frame.unpainted ? `No values: ${frame.unpainted}` : "";
    this.panel.say(frame.failure ? `The simulation stopped: ${frame.failure}` : frame.note || grey);
    this.showLegend();
    this.dirty ||= !same(before, frame);
  }

  setHeld(point) {
    this.grip = point;
    if (point) return;
    this.pressed = false;
    this.reach = null;
  }

  lost(reason) {
    this.setHeld(null);
    this.panel.say(reason || "The connection is lost. Connecting again …");
  }

  setShape(k, value) {
    if (this.player instanceof Swing) {
      this.player.still();
      this.drawing.still();
      this.panel.setPlaying(false);
      this.player.amounts[k] = value;
      this.showPlayer();
      return;
    }
    if ((this.live || this.scene.poses) && this.socket) {
      this.socket.send({ kind: "shape", body: 0, shape: k, value });
      return;
    }
    // without a simulation the page moves the shapes itself
    const q = this.drawing.bodies[0].q.slice();
    q[k] = value;
    this.setShapes(q);
  }

  /** Moves the shapes of the first body, of a scene that nothing else moves. */
  setShapes(q) {
    this.drawing.bodies[0].setCoordinates(this.drawing.gl, q);
    this.panel.setAmounts(q);
    this.drawing.still();
    this.drawing.rescale(this.drawing.bodies[0]);
    this.showLegend();
    this.dirty = true;
  }

  /** Shows the present state of the player. */
  showPlayer() {
    for (const { body: k, q, place } of this.player.states()) {
      const body = this.drawing.bodies[k];
      if (q && body.r) body.setCoordinates(this.drawing.gl, q);
      if (place) this.drawing.setPlace(body, place);
      this.drawing.rescale(body);
    }
    if (this.player instanceof Clip) {
      const { now, begin, end } = this.player, levels = this.player.levels();
      if (levels) this.drawing.bodies[0].setLevels(this.drawing.gl, levels);
      this.drawing.arrows = this.player.arrows();
      this.panel.setTime(end > begin ? (now - begin) / (end - begin) : 0, now + this.player.from);
    } else this.panel.setAmounts(this.player.amounts);
    this.showLegend();
    this.dirty = true;
  }

  showLegend() {
    const values = this.frame?.legend ?? this.scene.bodies.find((one) => one.legend)?.legend;
    const { bodies, marks, listed } = this.scene;
    const named = listed ? bodies.filter((one) => one.colour && !one.backdrop) : [];
    const largest = this.drawing.displaced ? this.drawing.largest : 0;
    const missing = this.drawing.bodies.some((one) => one.missing);
    this.panel.setLegend(largest, stops(values), [...named, ...marks], values, missing);
  }

  size() {
    const { box } = this.scene;
    return length(sub([...box.subarray(3, 6)], [...box.subarray(0, 3)]));
  }

  // ---- commands

  toggle() {
    if (this.live) {
      this.socket.send({ kind: this.frame?.playing ? "pause" : "play" });
      return;
    }
    if (!this.player) return;
    this.player.playing = !this.player.playing;
    this.panel.setPlaying(this.player.playing);
  }

  step(by) {
    if (this.live && by > 0) this.socket.send({ kind: "step" });
    if (!(this.player instanceof Clip)) return;
    this.player.step(by);
    this.panel.setPlaying(false);
    this.showPlayer();
  }

  reset() {
    this.drawing.still();
    if (this.scene.resets) this.socket?.send({ kind: "reset" });
    if (this.player instanceof Clip) this.seek(0);
    if (this.player instanceof Swing) {
      this.player.amounts.fill(0);
      this.showPlayer();
    }
    if (this.rests()) this.setShapes(new Float32Array(this.drawing.bodies[0].r));
  }

  /** Returns true if a file has one body, which its sliders move and a reset moves back. */
  rests() {
    return Boolean(this.scene.resets) && !this.socket && !this.player && this.scene.bodies.length === 1;
  }

  setSpeed(value) {
    if (this.live) this.socket.send({ kind: "speed", value });
    if (this.player) this.player.speed = value;
  }

  seek(part) {
    const { begin, end } = this.player;
    this.player.now = begin + part * (end - begin);
    this.showPlayer();
  }

  /** Shows all bodies as they are now, or the box of the scene, about its centre. */
  fit(whole = false) {
    const box = { centre: [0, 0, 0], radius: 0.5 * this.size() };
    const { centre, radius } = whole ? box : this.drawing.bounds();
    this.camera.fit(centre, radius);
    this.dirty = true;
  }

  /** Shows all, from beside the way of the held object to the others. */
  aim() {
    this.placed = true;
    const { drawing, camera, scene } = this, held = drawing.bodies[scene.held];
    if (held) {
      const others = drawing.bodies.filter((one) => one !== held && !one.given.backdrop);
      camera.across(sub(drawing.bounds([held]).centre, drawing.bounds(others).centre));
    }
    this.fit();
  }

  setWire(on) {
    this.drawing.wire = on;
    this.panel.setPressed("wire", on);
    // edges that were there from the beginning go away, too
    this.drawing.bodies.forEach((body) => {
      body.lined = body.given.lined ? !on : false;
    });
    this.dirty = true;
  }

  project() {
    this.camera.perspective = !this.camera.perspective;
    this.panel.setPressed("project", !this.camera.perspective);
    this.dirty = true;
  }

  setTheme(theme) {
    this.theme = theme === "dark" ? "dark" : "light";
    document.documentElement.dataset.theme = this.theme;
    this.dirty = true;
  }

  savePicture() {
    this.draw();
    canvas.toBlob((blob) => save(blob, "reducedfem.png"));
  }

  film() {
    if (this.recorder) {
      this.recorder.stop();
      return;
    }
    const parts = [];
    const kinds = ["video/webm;codecs=vp9", "video/webm", "video/mp4"];
    const type = kinds.find((one) => MediaRecorder.isTypeSupported(one));
    this.recorder = new MediaRecorder(canvas.captureStream(60), { mimeType: type, videoBitsPerSecond: 12e6 });
    this.recorder.ondataavailable = ({ data }) => parts.push(data);
    this.recorder.onstop = () => {
      this.recorder = null;
      this.panel.setPressed("film", false);
      save(new Blob(parts, { type }), `reducedfem.${type.includes("mp4") ? "mp4" : "webm"}`);
    };
    this.recorder.start();
    this.panel.setPressed("film", true);
  }

  // ---- gestures

  press({ x, y, aspect }) {
    if (this.reach) this.lift();
    if (!this.scene?.pulls || !this.socket.open) return false;
    const ray = this.camera.ray(x, y, aspect);
    this.grip = this.reach = null;
    this.pressed = true;
    this.socket.send({ kind: "pull", body: 0, origin: ray.origin, direction: ray.direction });
    this.start = { x, y };
    return true;
  }

  drag({ x, y, aspect }) {
    if (this.grip) {
      const place = this.camera.onPlane(this.camera.ray(x, y, aspect), this.grip);
      this.socket.send({ kind: "move", place });
    } else if (!this.pressed) {
      // the ray met nothing: the camera turns
      this.orbit(0.5 * (x - this.start.x) * aspect, 0.5 * (this.start.y - y));
    }
    this.start = { x, y };
  }

  lift() {
    this.pressed = false;
    this.grip = this.reach = null;
    this.socket?.send({ kind: "release" });
  }

  /** Releases what keys pull, when the page is hidden. */
  leave() {
    if (this.reach) this.lift();
  }

  orbit(dx, dy) {
    this.camera.orbit(dx, dy);
    this.dirty = true;
  }

  pan(dx, dy, aspect) {
    this.camera.pan(dx, dy, aspect);
    this.dirty = true;
  }

  zoom(factor, { x, y, aspect }) {
    this.camera.approach(factor, x, y, aspect);
    this.dirty = true;
  }

  double({ x, y, aspect }) {
    const ray = this.camera.ray(x, y, aspect);
    this.camera.centre = this.camera.onPlane(ray, this.camera.centre);
    this.dirty = true;
  }

  /** Pulls at the middle of the picture by keys, or ends that. */
  reachOut(middle) {
    if (this.reach) this.lift();
    else if (!this.pressed && this.press(middle)) this.reach = middle;
  }

  /** Turns or moves the camera, or a point that is pulled by keys. */
  arrow([dx, dy], shift) {
    const aspect = canvas.width / canvas.height;
    if (this.reach) {
      const { x, y } = this.reach;
      this.reach = { x: x - dx / aspect, y: y + dy, aspect };
      this.drag(this.reach);
    } else if (shift) this.pan(dx, dy, aspect);
    else this.orbit(dx, dy);
  }

  key(key, shift = false) {
    const turns = { ArrowLeft: [0.05, 0], ArrowRight: [-0.05, 0], ArrowUp: [0, 0.05], ArrowDown: [0, -0.05] };
    const middle = { x: 0, y: 0, aspect: canvas.width / canvas.height };
    const keys = {
      " ": () => this.toggle(),
      ".": () => this.step(1),
      ",": () => this.step(-1),
      0: () => this.reset(),
      f: () => this.fit(),
      g: () => this.reachOut(middle),
      z: () => this.sketch.undo(),
      w: () => this.setWire(!this.drawing.wire),
      p: () => this.project(),
      t: () => this.setTheme(this.theme === "dark" ? "light" : "dark"),
      s: () => this.savePicture(),
      r: () => this.film(),
      "?": () => this.panel.help(),
      "+": () => this.zoom(1.2, middle),
      "-": () => this.zoom(1 / 1.2, middle),
    };
    if (key in turns) this.arrow(turns[key], shift);
    else if (key === "Escape" && this.reach) this.lift();
    else if ("123".includes(key)) this.camera.along("123".indexOf(key));
    else if (key in keys) keys[key]();
    else return false;
    this.dirty = true;
    return true;
  }

  // ---- drawing

  resize() {
    const part = window.devicePixelRatio;
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * part));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * part));
    this.dirty = true;
    this.draw();
  }

  draw() {
    if (!this.scene) return;
    const { theme } = this, backdrop = BACKDROP[theme];
    this.drawing.draw(this.camera, { background: BACKGROUND[theme], lines: LINES[theme], backdrop }, !this.rough);
    this.frames += 1;
    this.dirty = false;
  }

  turn(now) {
    const elapsed = (now - (this.last ?? now)) / 1000;
    this.last = now;
    if (this.player?.advance(Math.min(elapsed, 0.25))) this.showPlayer();
    if (this.dirty) {
      // of slow pictures only those at rest are smooth
      this.rough = this.drawing.byProcessor && !this.recorder && this.usual(3) > SLOW;
      this.draw();
      [this.unfinished, this.rough, this.moved] = [this.rough, false, now];
      this.spent.push(1000 * elapsed);
      if (this.spent.length > 30) this.spent.shift();
    } else if (this.unfinished && now - this.moved > REST) {
      this.unfinished = false;
      this.draw();
    }
    if (!this.counted || now - this.counted > 250) {
      this.counted = now;
      this.showNumbers();
    }
    requestAnimationFrame((next) => this.turn(next));
  }

  /** Median of the last times between pictures [ms]. */
  usual(last = 30) {
    const spent = this.spent.slice(-last);
    return spent.sort((a, b) => a - b)[Math.floor(spent.length / 2)] ?? 0;
  }

  showNumbers() {
    if (!this.scene) return;
    const rows = [...(this.frame?.numbers ?? this.player?.numbers?.() ?? [])];
    if (this.frame?.playing) {
      const { ratio, speed } = this.frame;
      if (ratio < 0.9 * speed) rows.push(["slower than asked for", `${ratio.toPrecision(2)}× of ${speed}×`, ""]);
    }
    if (this.reach) rows.push(["arrows pull", "g releases", ""]);
    if (this.frame?.held && !this.frame.holds && this.scene.tool === null) rows.push(["another page pulls", "", ""]);
    const ms = this.usual();
    const moving = this.frame?.playing || this.player?.playing;
    if (ms > 0 && moving) rows.push([this.drawing.byProcessor ? "drawn without a GPU" : "drawn", `${Math.round(1000 / ms)} frames/s`, ""]);
    this.panel.setNumbers(rows);
  }
}

/** Gives bodies the parts of arrays that a frame has for all of them. */
function spread(frame, bodies) {
  const { places, coordinates, dimples } = frame;
  let at = 0;
  for (let k = 0; places && k < places.shape[0]; ++k) {
    const q = coordinates.subarray(at, at + bodies[k].r);
    at += bodies[k].r;
    const place = places.subarray(7 * k, 7 * k + 7);
    frame.bodies.push({ q, position: place.subarray(0, 3), quaternion: place.subarray(3) });
  }
  for (const { body, moved, normals } of dimples ?? []) Object.assign(frame.bodies[body], { moved, normals });
}

/** True if two frames show the same. */
function same(a, b) {
  const equal = (x, y) =>
    x === y || (x?.length === y?.length && x?.length !== undefined && x.every((one, k) => one === y[k]));
  const alike = (of, ...names) => a[of].length === b[of].length
    && a[of].every((one, k) => names.every((name) => equal(one[name], b[of][k][name])));
  return a !== null && alike("bodies", "q", "moved", "position", "quaternion", "levels")
    && alike("arrows", "from", "to", "colour", "thick") && alike("dots", "points", "colour");
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function failed(error) {
  const message = document.getElementById("message");
  message.hidden = false;
  message.textContent = error.message;
  throw error;
}

try {
  window.reducedfem = new Page();
} catch (error) {
  failed(error);
}
