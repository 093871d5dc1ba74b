// Controls around the picture: bar of buttons, numbers, sliders, legend, help.

import { MISSING } from "view/shaders";

const ICONS = {
  play: "M7 4v16l13-8z",
  pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  step: "M5 4v16l10-8zM17 4h3v16h-3z",
  reset: "M12 5a7 7 0 1 1-6.7 5H3l4-5 4 5H8.1A4.5 4.5 0 1 0 12 7.5z",
  fit: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  wire: "M12 3 3 19h18zM12 3v16M7.5 11h9M7.5 11 12 19l4.5-8",
  project: "M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8",
  theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18z",
  picture: "M4 7h4l2-2h4l2 2h4v12H4zM12 9a3.5 3.5 0 1 0 .01 0z",
  film: "M12 5a7 7 0 1 0 .01 0z",
  help: "M12 3a9 9 0 1 0 .01 0zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.4-1 .8-1 1.7M12 16.5v.01",
};
const OUTLINED = new Set(["wire", "project", "theme", "help", "picture"]);
const ROOM = 24; // letters along a scale
const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

/** Returns a number with three digits and an SI prefix. */
export function readable(value, unit) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (unit === "" && Number.isInteger(value)) return value.toLocaleString("en");
  // forces and energies below are rounding errors of contact or motion that has ended
  if (size === 0 || (size < 1e-9 && unit.startsWith("N")) || (size < 1e-18 && unit === "J")) return `0 ${unit}`;
  if (size < 1e-10) return `${value.toExponential(2)} ${unit}`;
  const [factor, prefix] = PREFIXES.find(([one]) => size >= 0.9995 * one) ?? PREFIXES.at(-1);
  const plain = unit === "" || unit === "×" || unit === "°";
  const number = plain ? value : value / factor;
  const text = Math.abs(number) >= 99.95 ? number.toFixed(0) : number.toPrecision(3);
  return unit === "°" ? `${text}°` : `${text} ${plain ? "" : prefix}${unit}`.trim();
}

/** Returns so many of the numbers [place, text] of a scale that their texts stay apart. */
function apart(ticks) {
  const letters = ticks.reduce((sum, [, text]) => sum + text.length + 2, 0);
  return letters > ROOM && ticks.length > 2 ? apart(ticks.filter((_, k) => k % 2 === 0)) : ticks;
}

const svg = (name) => {
  const space = "http://www.w3.org/2000/svg";
  const icon = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
  icon.setAttribute("viewBox", "0 0 24 24");
  icon.setAttribute("aria-hidden", "true");
  if (OUTLINED.has(name)) icon.classList.add("outlined");
  path.setAttribute("d", ICONS[name]);
  icon.append(path);
  return icon;
};

const css = (colour) => `rgb(${colour.map((x) => Math.round(255 * x)).join(" ")})`;

/** Makes an element of the page. */
export function element(kind, attributes = {}, ...children) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Makes a disc of a colour. */
function spot(colour) {
  const made = element("i", { className: "spot" });
  made.style.background = css(colour);
  return made;
}

export class Panel {
  constructor(actions) {
    this.actions = actions;
    this.bar = document.getElementById("bar");
    this.numbers = document.getElementById("numbers");
    this.sliders = document.getElementById("sliders");
    this.legend = document.getElementById("legend");
    this.buttons = {};
    this.rows = new Map();
    this.makeHelp();
  }

  button(name, text, key, action) {
    const made = element("button", { type: "button", title: `${text} (${key})` }, svg(name));
    made.setAttribute("aria-label", text);
    made.addEventListener("click", ({ detail }) => {
      action();
      // keys are for the picture again, unless a key pressed the button
      if (detail) document.getElementById("picture").focus();
    });
    this.buttons[name] = made;
    return made;
  }

  /** Builds the bar for a scene. */
  build({ plays, steps, resets, seeks, films }) {
    const { actions } = this;
    this.bar.replaceChildren();
    if (plays) {
      this.bar.append(this.button("play", "Play or pause", "space", actions.toggle));
      if (steps) {
        this.bar.append(this.button("step", "One step", ".", actions.step));
      }
    }
    if (resets) this.bar.append(this.button("reset", "Reset", "0", actions.reset));
    if (plays) {
      this.speed = element("select", { title: "Speed" });
      this.speed.setAttribute("aria-label", "Speed");
      for (const one of [0.01, 0.03, 0.1, 0.3, 1, 3]) {
        this.speed.append(element("option", { value: one, selected: one === 1 }, `${one}×`));
      }
      this.speed.addEventListener("change", () => actions.speed(Number(this.speed.value)));
      this.bar.append(this.speed);
    }
    if (seeks) {
      this.time = element("input", { type: "range", min: 0, max: 1000, value: 0, className: "time" });
      this.time.setAttribute("aria-label", "Time");
      this.time.addEventListener("input", () => actions.seek(Number(this.time.value) / 1000));
      this.clock = element("output");
      this.bar.append(this.time, this.clock);
    }
    this.bar.append(
      element("span", { className: "gap" }),
      this.button("fit", "Show all", "f", actions.fit),
      this.button("wire", "Edges", "w", actions.wire),
      this.button("project", "Perspective or parallel", "p", actions.project),
      this.button("theme", "Light or dark", "t", actions.theme),
      this.button("picture", "Save a picture", "s", actions.picture),
    );
    if (films) this.bar.append(this.button("film", "Record a film", "r", actions.film));
    this.bar.append(this.button("help", "Help", "?", actions.help));
  }

  setPlaying(on) {
    const path = this.buttons.play?.querySelector("path");
    if (path) path.setAttribute("d", ICONS[on ? "pause" : "play"]);
  }

  setSpeed(value) {
    const known = [...(this.speed?.options ?? [])].find((one) => Number(one.value) === value);
    if (known && document.activeElement !== this.speed) known.selected = true;
  }

  setTime(part, seconds) {
    if (!this.time) return;
    if (document.activeElement !== this.time || !this.time.matches(":active")) this.time.value = 1000 * part;
    this.clock.value = readable(seconds, "s");
  }

  setPressed(name, on) {
    this.buttons[name]?.setAttribute("aria-pressed", on);
  }

  /** Shows rows of [name, value, unit]. */
  setNumbers(rows) {
    const names = new Set(rows.map(([name]) => name));
    for (const [name, row] of this.rows) {
      if (!names.has(name)) {
        row.remove();
        this.rows.delete(name);
      }
    }
    for (const [name, value, unit] of rows) {
      let row = this.rows.get(name);
      if (!row) {
        row = element("div", {}, element("span", {}, name), element("output"));
        this.rows.set(name, row);
        this.numbers.append(row);
      }
      const text = typeof value === "string" ? value : readable(value, unit);
      if (row.lastChild.value !== text) row.lastChild.value = text;
    }
  }

  /** Makes sliders; `change` gets the number of a slider and its value. */
  setSliders(sliders, title, open, change) {
    this.sliders.replaceChildren();
    this.inputs = [];
    this.sliders.hidden = !sliders.length;
    if (!sliders.length) return;
    const list = element("details", { open: open && window.innerWidth > 700 }, element("summary", {}, title));
    sliders.forEach(({ label, most, scale, unit, colour }, k) => {
      const input = element("input", { type: "range", min: -1000, max: 1000, value: 0 });
      input.setAttribute("aria-label", label);
      const output = element("output");
      input.addEventListener("input", () => change(k, (most * Number(input.value)) / 1000));
      input.addEventListener("pointerup", () => document.getElementById("picture").focus());
      const zero = () => {
        input.value = 0;
        change(k, 0);
      };
      input.addEventListener("dblclick", zero);
      input.addEventListener("keydown", ({ key }) => key === "Delete" && zero());
      this.inputs.push({ input, output, most, scale, unit });
      const name = element("span", {}, ...(colour ? [spot(colour)] : []), label);
      list.append(element("label", {}, name, input, output));
    });
    this.sliders.append(list);
  }

  /** Shows coordinates at the sliders. */
  setAmounts(q) {
    this.inputs?.forEach(({ input, output, most, scale, unit }, k) => {
      const text = q[k] === 0 ? "" : readable(q[k] * scale, unit);
      if (output.value !== text) output.value = text;
      if (!input.matches(":active")) input.value = (1000 * q[k]) / most;
    });
  }

  /** Shows the scale of colours: of values (some may be missing), or of displacements up to `largest` [m]; 0: no scale. */
  setLegend(largest, colours, marks, values, missing) {
    this.legend.hidden = !(values || largest > 0 || marks.length);
    const ends = [[0, "0"], [1, readable(largest, "m")]];
    const shown = values ?? (largest > 0 ? { title: "displacement", ticks: ends } : null);
    const text = JSON.stringify([shown, marks.map((one) => one.name), missing]);
    if (text === this.legendText) return;
    this.legendText = text;
    const row = ({ name, colour }) => element("div", {}, spot(colour), name);
    const rows = marks.map(row);
    if (shown) {
      const bar = element("i", { className: "scale" });
      bar.style.background = `linear-gradient(to right, ${colours.map(css).join(", ")})`;
      const ticks = apart(shown.ticks).map(([part, number]) => {
        const tick = element("span", {}, number);
        tick.style.left = `${100 * part}%`;
        // long numbers at the ends stay within the card
        tick.style.transform = `translateX(-${values ? 50 : 100 * part}%)`;
        return tick;
      });
      rows.push(element("div", {}, shown.title), bar, element("div", { className: "ticks" }, ...ticks));
    }
    if (missing) rows.push(row({ name: "no value", colour: MISSING }));
    this.legend.replaceChildren(...rows);
  }

  setTitle(title, texts) {
    const header = document.getElementById("title");
    header.replaceChildren(element("h1", {}, title), ...texts.map((one) => element("p", {}, one)));
  }

  /** Shows a text above all; empty: none. */
  say(text) {
    const message = document.getElementById("message");
    message.hidden = !text;
    // screen readers read each new text
    if (message.textContent !== text) message.textContent = text;
  }

  makeHelp() {
    const rows = [
      ["drag, arrows", "turn; on a body that can be pulled: pull it"],
      ["shift + drag or arrows, right button, two fingers", "move"],
      ["wheel, two fingers, + -", "zoom"],
      ["g", "pull at the middle of the picture, by arrows; again: release"],
      ["h, u, Escape", "hold a tool, turn it upright, release it"],
      ["arrows, page up and down", "move a tool that is held; with shift: turn it"],
      ["double click", "put this place in the middle"],
      ["space", "play or pause"], [". ,", "one step forwards, of recordings also backwards"],
      ["0", "reset"], ["f", "show all"], ["w", "edges of triangles or elements"],
      ["z", "undo a force of a sketch"], ["p", "perspective or parallel projection"], ["1 2 3", "look along an axis"],
      ["Delete", "slider to zero"], ["t", "light or dark"], ["s", "save a picture"], ["r", "record a film, or end it"],
    ];
    const table = element("table", {}, ...rows.map(([key, text]) =>
      element("tr", {}, element("th", {}, key), element("td", {}, text))));
    const close = element("button", { type: "button" }, "Close");
    const dialog = document.getElementById("help");
    dialog.append(element("h2", {}, "Controls"), table, close);
    close.addEventListener("click", () => dialog.close());
  }

  help() {
    const dialog = document.getElementById("help");
    dialog.showModal();
    // the button that has the focus is at the end
    dialog.scrollTop = 0;
  }
}
