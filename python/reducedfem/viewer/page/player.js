// Motions that a page plays by itself: recorded ones, and shapes that swing.

import { add, length } from "view/linear";

const PERIOD = 1.6; // s, of the slowest shape that swings

/** A recorded motion: times (m), and of each body that moves coordinates (m, r) and places (m, 7), or null. */
export class Clip {
  constructor({ begin, times, tracks, arrows, colour, numbers, levels }) {
    this.from = begin; // of the clock that is shown
    Object.assign(this, { times, tracks, given: arrows, colour, series: numbers, painted: levels });
    this.now = times[0];
    this.playing = this.end > this.begin;
    this.speed = 1;
  }

  get begin() {
    return this.times[0];
  }

  get end() {
    return this.times[this.times.length - 1];
  }

  /** Advances by some seconds; begins anew at the end. */
  advance(seconds) {
    if (!this.playing) return false;
    const span = this.end - this.begin;
    this.now += seconds * this.speed;
    if (this.now > this.end) this.now = this.begin + (span > 0 ? (this.now - this.begin) % span : 0);
    return true;
  }

  /** The next record, forwards or backwards. */
  step(by = 1) {
    this.playing = false;
    const k = Math.min(this.times.length - 1, Math.max(0, this.index() + by));
    this.now = this.times[k];
  }

  /** Last record that is not later than the present time. */
  index() {
    let low = 0, high = this.times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle] <= this.now + 1e-9 * (this.end - this.begin)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The records before and after the present time, and its part of the way between them. */
  moment() {
    const k = this.index(), next = Math.min(k + 1, this.times.length - 1);
    const gap = this.times[next] - this.times[k];
    return { k, next, part: gap > 0 ? Math.max(0, (this.now - this.times[k]) / gap) : 0 };
  }

  /** Values of an array with a row a record at the present time, between records by interpolation. */
  between(array, width) {
    const { k, next, part } = this.moment();
    const out = new Float32Array(width);
    for (let j = 0; j < width; ++j) {
      out[j] = (1 - part) * array[width * k + j] + part * array[width * next + j];
    }
    return out;
  }

  /** Number of each body that moves, its coordinates and place, or null, at the present time. */
  states() {
    return this.tracks.map(({ body, q, places }) => (
      { body, q: q && this.between(q, q.shape[1]), place: places && this.place(places) }));
  }

  /** Colours of the vertices of the first body at the present time; null: they do not change. */
  levels() {
    if (!this.painted) return null;
    const width = this.painted.shape[1], { k, next, part } = this.moment();
    const a = this.painted.subarray(width * k, width * (k + 1));
    const b = this.painted.subarray(width * next, width * (next + 1));
    // a vertex without a value in one of the records has none between them
    return a.map((one, i) =>
      one === 255 || b[i] === 255 ? 255 : Math.round((1 - part) * one + part * b[i]));
  }

  /** Origin and rotation of a body. */
  place(places) {
    const found = this.between(places, 7), turn = [...found.subarray(3)];
    const size = Math.hypot(...turn);
    return { position: found.subarray(0, 3), quaternion: turn.map((one) => one / size) };
  }

  /** Arrow of the force at the present time, in a list. */
  arrows() {
    if (!this.given) return [];
    const found = [...this.between(this.given, 6)], from = found.slice(0, 3), along = found.slice(3);
    return length(along) > 0 ? [{ from, to: add(from, along), colour: this.colour }] : [];
  }

  /** Numbers of the last record: [name, value, unit] each. */
  numbers() {
    const k = this.index();
    return this.series.map(([name, values, unit]) => [name, values[k], unit]);
  }
}

/**
 * Shapes at the amounts of the sliders, which swing together: with their frequencies [Hz], slowed
 * so that the slowest of them takes the period; without (null), all alike.
 */
export class Swing {
  constructor(r, frequencies) {
    this.amounts = new Float32Array(r);
    this.frequencies = frequencies;
    this.playing = false;
    this.time = 0;
    this.speed = 1;
  }

  advance(seconds) {
    if (!this.playing) return false;
    this.time += seconds * this.speed;
    return true;
  }

  /** Lowest frequency of a shape that is shown; 0: there is none. */
  lowest() {
    const shown = [...(this.frequencies ?? [])].filter((one, k) => one > 0 && this.amounts[k] !== 0);
    return shown.length ? Math.min(...shown) : 0;
  }

  states() {
    const lowest = this.lowest();
    const q = this.amounts.map((one, k) => {
      const ratio = lowest > 0 ? this.frequencies[k] / lowest : 1;
      return one * Math.cos((2 * Math.PI * ratio * this.time) / PERIOD);
    });
    return [{ body: 0, q, place: null }];
  }

  /** Numbers beside the picture: how much slower than the body the shapes swing. */
  numbers() {
    const slower = (this.lowest() * PERIOD) / this.speed;
    return slower > 0 && this.playing ? [["slowed down", slower, "×"]] : [];
  }

  still() {
    this.playing = false;
    this.time = 0;
  }
}
