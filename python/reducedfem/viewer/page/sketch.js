// Sketches of forces on a solid: buttons, list of the forces, progress of computations.

import { element, readable } from "view/panel";

export class Sketch {
  /** `send` takes a message for the view. */
  constructor(send) {
    this.send = send;
    this.box = element("aside", { id: "sketch", hidden: true, "aria-label": "Sketch" });
    document.body.append(this.box);
    this.last = "";
  }

  stage(name) {
    this.send({ kind: "stage", name });
  }

  erase(number) {
    this.send({ kind: "erase", number });
  }

  undo() {
    const count = this.state?.stage === "sketch" ? this.state.forces.length : 0;
    if (count > 0) this.erase(count - 1);
  }

  /** Shows the state that a frame has; undefined: there are no sketches. */
  show(state) {
    this.state = state;
    this.box.hidden = !state;
    if (!state) return;
    // the list is made anew only if it is another one, so that buttons can be clicked
    const text = JSON.stringify({ ...state, part: 0, seconds: 0 });
    if (text !== this.last) this.build(state);
    this.last = text;
    if (this.bar) this.progress(state);
  }

  /** Shows a part; none yet, and the end of a task, as a bar that moves. */
  progress({ part, seconds }) {
    const known = part > 0 && part < 1;
    if (known) this.bar.value = part;
    else this.bar.removeAttribute("value");
    this.clock.textContent = `${known ? `${Math.floor(100 * part)} %, ` : ""}${Math.floor(seconds)} s`;
  }

  build(state) {
    // below the title, which may have many lines
    const top = document.getElementById("title").getBoundingClientRect().bottom + 12;
    this.box.style.setProperty("--top", `${top}px`);
    this.box.replaceChildren();
    this.bar = null;
    if (state.failure) this.box.append(element("p", { className: "failure", role: "alert" }, state.failure));
    if (state.task) {
      this.bar = element("progress", { max: 1 });
      this.clock = element("p");
      this.progress(state);
      this.bar.setAttribute("aria-label", state.task);
      const text = state.cancelled ? "Cancelling …" : `${state.task} …`;
      const cancel = this.button("Cancel", () => this.send({ kind: "cancel" }));
      cancel.disabled = state.cancelled;
      this.box.append(element("p", {}, text), this.bar, this.clock, cancel);
    } else if (state.stage === "solid") {
      const begin = this.button("Sketch forces", () => this.stage("sketch"));
      begin.disabled = state.hint !== "";
      this.box.append(begin);
      if (state.hint) this.box.append(element("p", {}, state.hint));
    } else if (state.stage === "sketch") {
      this.sketching(state.forces);
    } else {
      this.box.append(this.button("Back to the forces", () => this.stage("sketch")));
    }
  }

  sketching(forces) {
    const list = element("ol", {}, ...forces.map((newton, k) => {
      const erase = this.button("×", () => this.erase(k));
      erase.setAttribute("aria-label", `Delete force ${k + 1}`);
      return element("li", {}, element("span", {}, readable(newton, "N")), erase);
    }));
    const undo = this.button("Undo", () => this.undo()), basis = this.button("Compute the basis", () => this.stage("basis"));
    undo.title = "Undo (z)";
    undo.disabled = basis.disabled = forces.length === 0;
    this.box.append(element("p", {}, "Drag points of the body to place forces."), list,
      element("div", {}, undo, basis, this.button("Close", () => this.stage("solid"))));
  }

  button(text, action) {
    const made = element("button", { type: "button" }, text);
    made.addEventListener("click", () => {
      action();
      document.getElementById("picture").focus(); // keys are for the picture again
    });
    return made;
  }
}
