// Pointer, wheel, touch and keys.

const PRESSING = [" ", "Enter"];
const SLIDING = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"];

/** Turns events on the canvas into calls of `to`: press, drag, lift, leave, orbit, pan, zoom, key. */
export function listen(canvas, to) {
  const pointers = new Map();
  let held = false, last = null;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return {
      x: (2 * (event.clientX - box.left)) / box.width - 1,
      y: 1 - (2 * (event.clientY - box.top)) / box.height,
      aspect: box.width / box.height,
      height: box.height,
    };
  };
  const centre = () => {
    const all = [...pointers.values()];
    return {
      x: all.reduce((sum, one) => sum + one.clientX, 0) / all.length,
      y: all.reduce((sum, one) => sum + one.clientY, 0) / all.length,
      spread: all.length > 1 ? Math.hypot(all[0].clientX - all[1].clientX, all[0].clientY - all[1].clientY) : 0,
    };
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.focus();
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    if (pointers.size === 1 && event.button === 0 && !event.shiftKey && !event.ctrlKey) {
      held = to.press(place(event));
    } else if (held) {
      held = false;
      to.lift();
    }
    last = centre();
  });

  canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) {
      return;
    }
    pointers.set(event.pointerId, event);
    const now = centre(), { height, aspect } = place(event);
    const dx = (now.x - last.x) / height, dy = (now.y - last.y) / height;
    if (held) to.drag(place(event));
    else if (pointers.size > 1 || event.buttons !== 1 || event.shiftKey || event.ctrlKey) {
      to.pan(dx, dy, aspect);
    } else to.orbit(dx, dy);
    if (pointers.size > 1 && last.spread > 0 && now.spread > 0) {
      to.zoom(now.spread / last.spread, place({ clientX: now.x, clientY: now.y }));
    }
    last = now;
  });

  const up = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    if (held) to.lift();
    held = false;
    if (pointers.size) last = centre();
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("dblclick", (event) => to.double(place(event)));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      to.zoom(Math.exp(-0.0015 * lines * event.deltaY), place(event));
    },
    { passive: false },
  );
  // a page that is left no longer pulls
  const leave = () => {
    if (held) to.lift();
    held = false;
    to.leave();
  };
  document.addEventListener("visibilitychange", leave);
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    // controls keep the keys that they react to
    if (event.target.closest?.("button, select, summary") && PRESSING.includes(event.key)) return;
    if (event.target.closest?.("input, select") && SLIDING.includes(event.key)) return;
    if (event.target.closest?.("select") && event.key.length === 1) return;
    if (to.key(event.key, event.shiftKey)) event.preventDefault();
  });
}
