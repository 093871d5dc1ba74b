// Sources of scenes and frames: a socket, or the recording in the page itself.

import { decode } from "view/messages";

const AGAIN = [250, 500, 1000, 2000]; // ms until the next attempt to connect

/** Connects to the view and connects again when the connection is lost. */
export class Socket {
  constructor(handlers) {
    this.handlers = handlers;
    this.attempts = 0;
    this.connect();
  }

  connect() {
    const address = new URL("socket", document.baseURI);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.attempts = 0;
    };
    this.socket.onmessage = ({ data }) => this.receive(data);
    this.socket.onclose = (event) => this.lost(event);
  }

  receive(data) {
    const message = decode(data);
    if (message.kind === "scene") {
      try {
        this.handlers.scene(message);
      } catch (error) {
        this.failed = error.message;
        this.socket.close();
        throw error;
      }
    }
    if (message.kind === "held") this.handlers.held(message.point);
    if (message.kind === "frame") {
      this.handlers.frame(message);
      // the next frame comes when this one is on the screen
      requestAnimationFrame(() => this.send({ kind: "seen", number: message.number }));
    }
  }

  lost(event) {
    // the view gives a reason when it disconnects a page
    const reason = this.failed ?? event.reason;
    this.handlers.lost(reason);
    if (reason) return;
    const wait = AGAIN[Math.min(this.attempts++, AGAIN.length - 1)];
    setTimeout(() => this.connect(), wait);
  }

  get open() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  send(message) {
    if (this.open) this.socket.send(JSON.stringify(message));
  }
}

/** Returns the recorded scene in an element of the page, which is compressed, as a promise. */
export async function recorded(element) {
  if (!("DecompressionStream" in window)) {
    throw new Error("This page needs a browser of the year 2023 or later.");
  }
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; ++k) bytes[k] = text.charCodeAt(k);
  element.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return decode(await new Response(stream).arrayBuffer());
}
