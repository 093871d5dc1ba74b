// Drawing of a scene by WebGL 2.

import { add, length, scaled, sub, turned } from "view/linear";
import { ARROWS, DEFORM, DISCS, EDGES, SURFACE } from "view/shaders";

// colours from no displacement to the largest, as in style.py
const SCALE = [
  0.87, 0.88, 0.90, 0.56, 0.79, 0.87, 0.16, 0.60, 0.66,
  0.60, 0.74, 0.36, 0.97, 0.72, 0.24, 0.86, 0.27, 0.22,
];
// colours of values, from the least to the largest, as in style.py
const VALUES = [
  0.25, 0.27, 0.53, 0.17, 0.45, 0.56, 0.12, 0.62, 0.54,
  0.30, 0.76, 0.42, 0.63, 0.85, 0.22, 0.99, 0.91, 0.14,
];
const stopsOf = (scale) => [0, 1, 2, 3, 4, 5].map((k) => scale.slice(3 * k, 3 * k + 3));
export const stops = (ofValues) => stopsOf(ofValues ? VALUES : SCALE);
const SAMPLES = 1000; // vertices, beside the farthest ones of each shape, that decide the scale
const SIDES = 20; // of an arrow
const SAMPLED = 4; // samples a pixel
// The end of the scale of colours falls after a motion, but not below a part of the peak, the largest
// displacement so far, which falls more slowly.
const FADE = 2; // s, in which the end of the scale falls by a factor e
const FORGET = 30; // s, in which the peak falls by a factor e
const LEAST = 0.02; // the scale ends at this part of the peak, at least
const STILL = 1e-3; // displacements below this part of the peak hide the scale

const midpoint = (a, b) => scaled(0.5, add(a, b));

function program(gl, source) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, source.vertex], [gl.FRAGMENT_SHADER, source.fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
      throw new Error(gl.getShaderInfoLog(shader));
    }
    gl.attachShader(made, shader);
  }
  if (source.captured) gl.transformFeedbackVaryings(made, source.captured, gl.SEPARATE_ATTRIBS);
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const at = {};
  for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); ++k) {
    const name = gl.getActiveUniform(made, k).name.replace("[0]", "");
    at[name] = gl.getUniformLocation(made, name);
  }
  return { made, at };
}

function buffer(gl, target, data, usage = gl.STATIC_DRAW) {
  const made = gl.createBuffer();
  gl.bindBuffer(target, made);
  gl.bufferData(target, data, usage);
  return made;
}

/** Texture array with a layer a shape and a texel a vertex, of shapes (r, v, 3). */
function layers(gl, shapes) {
  const [r, v] = shapes ? shapes.shape : [1, 1];
  const most = gl.getParameter(gl.MAX_ARRAY_TEXTURE_LAYERS);
  if (r > most) throw new Error(`This browser draws ${most} shapes of a body, not ${r}.`);
  const width = Math.min(2048, v), height = Math.ceil(v / width);
  const made = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D_ARRAY, made);
  gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, gl.RGB32F, width, height, r);
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  if (gl.getError()) throw new Error("The graphics card has no memory for the shapes.");
  const padded = new Float32Array(3 * width * height);
  for (let k = 0; k < (shapes ? r : 0); ++k) {
    padded.set(shapes.subarray(3 * v * k, 3 * v * (k + 1)));
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, k, width, height, 1, gl.RGB, gl.FLOAT, padded);
  }
  return made;
}

/** Edges of triangles, each once. */
function edgesOf(triangles, vertices) {
  const keys = new Float64Array(triangles.length), found = new Int32Array(2 * triangles.length);
  for (let t = 0; t < triangles.length; t += 3) {
    for (let k = 0; k < 3; ++k) {
      const a = triangles[t + k], b = triangles[t + ((k + 1) % 3)];
      keys[t + k] = Math.min(a, b) * vertices + Math.max(a, b);
    }
  }
  keys.sort();
  let count = 0;
  keys.forEach((key, k) => {
    if (k && key === keys[k - 1]) return;
    found[count++] = Math.floor(key / vertices);
    found[count++] = key % vertices;
  });
  return found.subarray(0, count);
}

class Body {
  constructor(gl, given, like) {
    this.turn = [0, 0, 0, 1];
    this.place = [...given.place];
    this.offsets = null;
    this.lines = null;
    if (like) this.share(gl, given, like);
    else this.upload(gl, given);
    this.lined = this.given.lined;
    this.q = new Float32Array(this.r);
    this.amounts = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.amounts);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R32F, Math.max(1, this.r), 1);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  share(gl, given, { given: other, vertices, r, array, indices, shapes, tilts, deformed }) {
    this.given = { ...other, name: given.name, colour: given.colour };
    Object.assign(this, { vertices, r, array, indices, shapes, tilts, deformed });
  }

  upload(gl, given) {
    this.given = given;
    this.vertices = given.vertices.shape[0];
    this.r = given.shapes ? given.shapes.shape[0] : 0;
    this.buffers = [];
    const attribute = (at, data, type = gl.FLOAT, size = 3, usage = gl.STATIC_DRAW) => {
      const made = buffer(gl, gl.ARRAY_BUFFER, data, usage);
      this.buffers.push(made);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, type, type !== gl.FLOAT, 0, 0);
      return made;
    };
    // at rest
    this.rest = gl.createVertexArray();
    gl.bindVertexArray(this.rest);
    attribute(0, given.vertices);
    if (given.normals) attribute(1, given.normals);
    // as it is drawn: positions, normals and displacements of the body that was deformed last
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    if (given.colours) attribute(2, given.colours, gl.UNSIGNED_BYTE);
    const results = [[0, 3], [1, 3], [3, 1]].map(([at, size]) =>
      attribute(at, 4 * size * this.vertices, gl.FLOAT, size, gl.DYNAMIC_COPY));
    gl.bindBuffer(gl.ARRAY_BUFFER, null);
    this.deformed = { rest: this.rest, feedback: gl.createTransformFeedback(), body: null };
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, this.deformed.feedback);
    results.forEach((one, at) => gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, at, one));
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, null);
    gl.bindBuffer(gl.TRANSFORM_FEEDBACK_BUFFER, null);
    this.indices = buffer(gl, gl.ELEMENT_ARRAY_BUFFER, given.triangles);
    this.buffers.push(this.indices);
    gl.bindVertexArray(null);
    this.shapes = layers(gl, given.shapes);
    this.tilts = layers(gl, given.tilts);
    if (given.levels) this.setLevels(gl, given.levels);
  }

  /** Colours of the vertices on the scale of values: bytes, 255 without a value. */
  setLevels(gl, levels) {
    this.missing = levels.includes(255);
    gl.bindVertexArray(this.array);
    if (!this.levels) {
      this.levels = buffer(gl, gl.ARRAY_BUFFER, levels, gl.DYNAMIC_DRAW);
      this.buffers.push(this.levels);
      gl.enableVertexAttribArray(4);
      gl.vertexAttribPointer(4, 1, gl.UNSIGNED_BYTE, false, 0, 0);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.levels);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, levels);
    gl.bindVertexArray(null);
  }

  setCoordinates(gl, q) {
    if (this.q.some((one, k) => one !== q[k])) this.forget();
    this.q.set(q);
    gl.bindTexture(gl.TEXTURE_2D, this.amounts);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, Math.max(1, this.r), 1, gl.RED, gl.FLOAT, this.q);
  }

  /** Computes the deformation anew when it is drawn next. */
  forget() {
    if (this.deformed.body === this) this.deformed.body = null;
  }

  /** Computes the deformation, unless the buffers have it. */
  deform(gl, { made, at }) {
    const { body } = this.deformed;
    // bodies that share a geometry without shapes are all at rest
    if (body === this || (body && !this.r && !this.offsets)) return;
    this.deformed.body = this;
    gl.useProgram(made);
    [[gl.TEXTURE_2D_ARRAY, this.shapes, "shapes"], [gl.TEXTURE_2D_ARRAY, this.tilts, "tilts"],
      [gl.TEXTURE_2D, this.amounts, "amounts"]].forEach(([target, texture, name], k) => {
      gl.activeTexture(gl.TEXTURE0 + k);
      gl.bindTexture(target, texture);
      gl.uniform1i(at[name], k);
    });
    gl.uniform1i(at.count, this.r);
    gl.uniform1i(at.tilted, this.given.tilts ? 1 : 0);
    gl.bindVertexArray(this.deformed.rest);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, this.deformed.feedback);
    gl.enable(gl.RASTERIZER_DISCARD);
    gl.beginTransformFeedback(gl.POINTS);
    gl.drawArrays(gl.POINTS, 0, this.vertices);
    gl.endTransformFeedback();
    gl.disable(gl.RASTERIZER_DISCARD);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, null);
  }

  setMoved(gl, moved, normals) {
    this.forget();
    gl.bindVertexArray(this.rest);
    if (!this.offsets) {
      this.offsets = [moved, normals].map((one, k) => {
        const made = buffer(gl, gl.ARRAY_BUFFER, one.byteLength, gl.DYNAMIC_DRAW);
        const at = k === 0 ? 2 : 1;
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
        return made;
      });
    }
    [moved, normals].forEach((one, k) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.offsets[k]);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, one);
    });
    gl.bindVertexArray(null);
    this.moved = moved;
  }

  /** Undoes setMoved. */
  setRest(gl) {
    this.setMoved(gl, new Float32Array(3 * this.vertices), this.given.normals);
    this.moved = null;
  }

  /** Vertices that each shape moves farthest, and some others. */
  samples() {
    if (this.sampled) return this.sampled;
    const { shapes } = this.given;
    const v = this.vertices, step = Math.max(1, Math.floor(v / SAMPLES)), found = new Set();
    for (let i = 0; i < v; i += step) found.add(i);
    for (let j = 0; j < this.r; ++j) {
      let best = -1, at = 0;
      for (let i = 0; i < v; ++i) {
        const k = 3 * (v * j + i);
        const size = shapes[k] ** 2 + shapes[k + 1] ** 2 + shapes[k + 2] ** 2;
        if (size > best) [best, at] = [size, i];
      }
      found.add(at);
    }
    this.sampled = [...found];
    return this.sampled;
  }

  /** Position of a vertex now, from the centre of the scene. */
  position(i) {
    const { shapes, vertices } = this.given;
    const x = [0, 1, 2].map((a) => vertices[3 * i + a] + (this.moved ? this.moved[3 * i + a] : 0));
    for (let j = 0; j < this.r; ++j) {
      for (let a = 0; a < 3; ++a) x[a] += this.q[j] * shapes[3 * (this.vertices * j + i) + a];
    }
    return add(turned(this.turn, x), this.place);
  }

  /** Largest displacement: of the samples, or of all vertices if a frame has them. */
  farthest() {
    const { shapes } = this.given;
    const v = this.vertices;
    let most = 0;
    if (this.moved) {
      const u = this.moved;
      for (let i = 0; i < u.length; i += 3) most = Math.max(most, u[i] ** 2 + u[i + 1] ** 2 + u[i + 2] ** 2);
      return Math.sqrt(most);
    }
    for (const i of this.samples()) {
      const u = [0, 0, 0];
      for (let a = 0; a < 3; ++a) {
        for (let j = 0; j < this.r; ++j) u[a] += this.q[j] * shapes[3 * (v * j + i) + a];
      }
      most = Math.max(most, length(u));
    }
    return most;
  }
}

/** Returns true if pictures are drawn by the processor. */
function byProcessor() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software/i.test(name);
}

/** Draws scenes on a canvas. */
export class Drawing {
  constructor(canvas) {
    this.byProcessor = byProcessor();
    // without a graphics card smooth edges take half of the time, so they are drawn at rest only
    const gl = canvas.getContext("webgl2", { antialias: !this.byProcessor, preserveDrawingBuffer: true });
    if (!gl) {
      throw new Error("This browser has no WebGL 2, by which views draw. Another browser, or graphics acceleration in the settings of this one, may have it.");
    }
    this.canvas = canvas;
    this.gl = gl;
    this.deformation = program(gl, DEFORM);
    this.surface = program(gl, SURFACE);
    this.edges = program(gl, EDGES);
    this.discs = program(gl, DISCS);
    this.arrow = program(gl, ARROWS);
    this.bodies = [];
    this.marks = [];
    this.dots = [];
    this.arrows = [];
    this.still();
    this.wire = false;
    this.makeArrow();
  }

  makeArrow() {
    const rings = [[0, 0.35, -1, 0], [0, 0.35, 0, 1], [1, 0.35, 0, 1], [1, 0.35, -1, 0], [1, 1, -1, 0],
      [1, 1, 0.3, 0.95], [2, 0, 0.3, 0.95]];
    const points = [], normals = [], indices = [];
    for (const [x, radius, along, out] of rings) {
      for (let k = 0; k < SIDES; ++k) {
        const angle = (2 * Math.PI * k) / SIDES, c = Math.cos(angle), s = Math.sin(angle);
        points.push(x > 1 || radius === 1 ? 1.0001 + (x - 1) * 0.9999 : x, radius * c, radius * s);
        normals.push(along, out * c, out * s);
      }
    }
    for (let j = 0; j + 1 < rings.length; ++j) {
      for (let k = 0; k < SIDES; ++k) {
        const a = SIDES * j + k, b = SIDES * j + ((k + 1) % SIDES);
        indices.push(a, b, a + SIDES, b, b + SIDES, a + SIDES);
      }
    }
    const { gl } = this;
    this.arrowArray = gl.createVertexArray();
    gl.bindVertexArray(this.arrowArray);
    [points, normals].forEach((data, at) => {
      buffer(gl, gl.ARRAY_BUFFER, new Float32Array(data));
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
    });
    buffer(gl, gl.ELEMENT_ARRAY_BUFFER, new Uint16Array(indices));
    this.arrowCount = indices.length;
    gl.bindVertexArray(null);
  }

  /** Deletes what the last scene has on the graphics card. */
  dispose() {
    const { gl } = this;
    for (const body of this.bodies) {
      gl.deleteTexture(body.amounts);
      for (const one of [body.shapes, body.tilts]) gl.deleteTexture(one);
      for (const one of [body.array, body.rest]) gl.deleteVertexArray(one ?? null);
      gl.deleteTransformFeedback(body.deformed.feedback);
      for (const one of [...(body.buffers ?? []), ...(body.offsets ?? []), body.lines]) gl.deleteBuffer(one);
    }
    for (const one of [...this.marks, ...this.dots]) {
      gl.deleteVertexArray(one.array);
      gl.deleteBuffer(one.buffer);
    }
  }

  setScene(scene) {
    const { gl } = this;
    this.dispose();
    this.bodies = [];
    for (const one of scene.bodies) this.bodies.push(new Body(gl, one, this.bodies[one.like]));
    this.marks = scene.marks.map((one) => this.makeDots(one));
    this.dots = [];
    this.arrows = [];
    this.still();
  }

  makeDots(one) {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const points = buffer(gl, gl.ARRAY_BUFFER, one.points);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.bindVertexArray(null);
    return { ...one, array, buffer: points, count: one.points.shape[0] };
  }

  /** Moves marks that follow vertices of the first body. */
  followBody({ points, vertices, buffer: held }) {
    vertices.forEach((i, k) => points.set(this.bodies[0].position(i), 3 * k));
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, held);
    this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, points);
  }

  setFrame(frame) {
    frame.bodies.forEach((one, k) => {
      const body = this.bodies[k];
      if (one.q) body.setCoordinates(this.gl, one.q);
      if (one.moved) body.setMoved(this.gl, one.moved, one.normals);
      else if (body.moved) body.setRest(this.gl);
      if (one.levels) body.setLevels(this.gl, one.levels);
      if (one.position) this.setPlace(body, one);
    });
    this.arrows = frame.arrows;
    for (const one of this.dots) {
      this.gl.deleteVertexArray(one.array);
      this.gl.deleteBuffer(one.buffer);
    }
    this.dots = frame.dots.map((one) => this.makeDots(one));
  }

  /** The position is that of the middle of the body, from the centre of the scene. */
  setPlace(body, { position, quaternion: [w, x, y, z] }) {
    body.turn = [x, y, z, w];
    body.place = [...position];
  }

  /** Centre and radius of a sphere around bodies as they are now. */
  bounds(bodies = this.bodies.filter((one) => !one.given.backdrop)) {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (const body of bodies) {
      for (const i of body.samples()) {
        body.position(i).forEach((x, a) => {
          low[a] = Math.min(low[a], x);
          high[a] = Math.max(high[a], x);
        });
      }
    }
    for (const { points } of this.marks) {
      points.forEach((x, k) => {
        low[k % 3] = Math.min(low[k % 3], x);
        high[k % 3] = Math.max(high[k % 3], x);
      });
    }
    return { centre: midpoint(low, high), radius: 0.5 * length(sub(high, low)) };
  }

  /** Forgets displacements, and with them the scale of colours. */
  still() {
    this.largest = this.peak = 0;
    this.displaced = false;
  }

  /** The scale of colours ends at the largest displacement seen since the last call of `still`. */
  rescale(body) {
    if (body.given.colour === null) this.largest = Math.max(this.largest, body.farthest());
    this.displaced = this.largest > 0;
  }

  /** The scale of colours follows the displacements; true if what is drawn changes thereby. */
  follow(seconds) {
    const coloured = this.bodies.filter((one) => one.given.colour === null);
    const now = Math.max(0, ...coloured.map((one) => one.farthest())), before = this.largest;
    this.peak = Math.max(now, this.peak * Math.exp(-seconds / FORGET));
    this.largest = Math.max(now, LEAST * this.peak, before * Math.exp(-seconds / FADE));
    this.displaced = now > STILL * this.peak;
    return this.displaced && this.largest !== before;
  }

  /** Binds a picture with several samples a pixel, which `finish` copies to the canvas. */
  begin() {
    const { gl, canvas } = this, { width, height } = canvas;
    this.samples ??= { frame: gl.createFramebuffer(), buffers: [0, 1].map(() => gl.createRenderbuffer()) };
    const { frame, buffers, size } = this.samples;
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    if (size === `${width} ${height}`) return;
    this.samples.size = `${width} ${height}`;
    [[gl.RGBA8, gl.COLOR_ATTACHMENT0], [gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT]].forEach(([kind, at], k) => {
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffers[k]);
      gl.renderbufferStorageMultisample(gl.RENDERBUFFER, SAMPLED, kind, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, at, gl.RENDERBUFFER, buffers[k]);
    });
  }

  finish() {
    const { gl, canvas: { width, height } } = this;
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** Draws all; smooth: edges have no steps also without a graphics card. */
  draw(camera, colours, smooth = true) {
    const { gl, canvas } = this, sampled = smooth && this.byProcessor;
    if (sampled) this.begin();
    const aspect = canvas.width / canvas.height;
    const matrices = camera.matrices(aspect);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...colours.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    for (const body of this.bodies) this.drawSurface(body, camera, matrices, body.given.backdrop ? colours.backdrop : 1);
    for (const body of this.bodies) {
      if (this.wire || body.lined) this.drawEdges(body, matrices, colours.lines);
    }
    this.marks.filter((one) => one.vertices?.length).forEach((one) => this.followBody(one));
    for (const one of [...this.marks, ...this.dots]) this.drawDiscs(one, matrices);
    for (const one of this.arrows) this.drawArrow(one, camera, matrices);
    if (sampled) this.finish();
  }

  moved(shader, body, matrices) {
    const { gl } = this;
    body.deform(gl, this.deformation);
    gl.useProgram(shader.made);
    gl.bindVertexArray(body.array);
    gl.uniform4fv(shader.at.turn, body.turn);
    gl.uniform3fv(shader.at.place, body.place);
    gl.uniformMatrix4fv(shader.at.camera, false, matrices.camera);
    gl.uniformMatrix4fv(shader.at.projection, false, matrices.projection);
  }

  drawSurface(body, camera, matrices, bright) {
    const { gl, surface } = this;
    const { given } = body;
    this.moved(surface, body, matrices);
    // normals that do not follow the deformation would be wrong
    const follows = body.offsets || given.tilts || !given.shapes;
    gl.uniform1i(surface.at.flat_, follows ? 0 : 1);
    gl.uniform1i(surface.at.perspective, camera.perspective ? 1 : 0);
    gl.uniform1i(surface.at.painting, body.levels ? 3 : given.colours ? 1 : given.colour ? 0 : 2);
    gl.uniform4f(surface.at.colour, ...scaled(bright, given.colour ?? [1, 1, 1]), 1);
    gl.uniform1f(surface.at.largest, this.largest > 0 ? this.largest : 1);
    gl.uniform3fv(surface.at.scale, body.levels ? VALUES : SCALE);
    if (given.size > 0) {
      // discs of a size in the world; `projection` gives half of the height of the picture
      gl.uniform1f(surface.at.size, given.size * matrices.projection[5] * 0.5 * this.canvas.height);
      gl.drawArrays(gl.POINTS, 0, body.vertices);
      return;
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, body.indices);
    gl.drawElements(gl.TRIANGLES, given.triangles.length, gl.UNSIGNED_INT, 0);
  }

  drawEdges(body, matrices, colour) {
    const { gl, edges } = this;
    this.moved(edges, body, matrices);
    if (!body.lines) {
      const found = body.given.edges ?? edgesOf(body.given.triangles, body.vertices);
      body.lines = buffer(gl, gl.ELEMENT_ARRAY_BUFFER, found);
      body.lineCount = found.length;
    }
    gl.uniform4fv(edges.at.colour, colour);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, body.lines);
    gl.drawElements(gl.LINES, body.lineCount, gl.UNSIGNED_INT, 0);
  }

  drawDiscs(one, matrices) {
    const { gl, discs } = this;
    gl.useProgram(discs.made);
    gl.bindVertexArray(one.array);
    gl.uniformMatrix4fv(discs.at.camera, false, matrices.camera);
    gl.uniformMatrix4fv(discs.at.projection, false, matrices.projection);
    gl.uniform1f(discs.at.size, 6 * window.devicePixelRatio);
    gl.uniform4f(discs.at.colour, ...one.colour, 1);
    gl.drawArrays(gl.POINTS, 0, one.count);
  }

  drawArrow(one, camera, matrices) {
    const { gl, arrow } = this;
    const along = sub([...one.to], [...one.from]);
    gl.useProgram(arrow.made);
    gl.bindVertexArray(this.arrowArray);
    gl.uniformMatrix4fv(arrow.at.camera, false, matrices.camera);
    gl.uniformMatrix4fv(arrow.at.projection, false, matrices.projection);
    gl.uniform3fv(arrow.at.from, [...one.from]);
    gl.uniform3fv(arrow.at.along, along);
    gl.uniform1f(arrow.at.thick, ((one.thick ?? 1) * 0.022 * camera.radius) / Math.max(1, Math.sqrt(camera.zoom)));
    gl.uniform4f(arrow.at.colour, ...one.colour, 1);
    gl.drawElements(gl.TRIANGLES, this.arrowCount, gl.UNSIGNED_SHORT, 0);
  }

  /** Positions and normals of a body as the shader moves them, from the centre of the scene. */
  read(k) {
    const { gl, surface } = this;
    const body = this.bodies[k], bytes = 12 * body.vertices;
    const feedback = gl.createTransformFeedback();
    const buffers = [0, 1].map(() => buffer(gl, gl.ARRAY_BUFFER, bytes, gl.STREAM_READ));
    gl.bindBuffer(gl.ARRAY_BUFFER, null);
    this.moved(surface, body, { camera: new Float32Array(16), projection: new Float32Array(16) });
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, feedback);
    buffers.forEach((one, at) => gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, at, one));
    gl.enable(gl.RASTERIZER_DISCARD);
    gl.beginTransformFeedback(gl.POINTS);
    gl.drawArrays(gl.POINTS, 0, body.vertices);
    gl.endTransformFeedback();
    gl.disable(gl.RASTERIZER_DISCARD);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, null);
    const read = buffers.map((one) => {
      const out = new Float32Array(3 * body.vertices);
      gl.bindBuffer(gl.ARRAY_BUFFER, one);
      gl.getBufferSubData(gl.ARRAY_BUFFER, 0, out);
      gl.deleteBuffer(one);
      return out;
    });
    gl.deleteTransformFeedback(feedback);
    return { positions: read[0], normals: read[1] };
  }
}
