// Messages of the view, see messages.py: a header in JSON with arrays behind it.

const MAGIC = 0x31564652; // "RFV1"
const TYPES = { f4: Float32Array, i4: Int32Array, u1: Uint8Array };

/** Returns the header of a message, an ArrayBuffer, with its arrays as typed arrays. */
export function decode(buffer) {
  const head = new DataView(buffer);
  if (buffer.byteLength < 8 || head.getUint32(0, true) !== MAGIC) {
    throw new Error("This is no message of a view.");
  }
  const size = head.getUint32(4, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 8, size));
  return filled(JSON.parse(text), buffer, 8 + size);
}

function filled(value, buffer, start) {
  if (Array.isArray(value)) return value.map((one) => filled(one, buffer, start));
  if (value === null || typeof value !== "object") return value;
  if (typeof value.at === "number" && value.type in TYPES) {
    const count = value.shape.reduce((a, b) => a * b, 1);
    const array = new TYPES[value.type](buffer, start + value.at, count);
    array.shape = value.shape;
    return array;
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, filled(one, buffer, start)]),
  );
}
