const headBytes = 8;
const mostUnits = 1024 * 1024;

/**
 * The input that a thread is at, in memory that two threads share: when the one hangs or dies, the other can still tell
 * at what.
 */
export class CurrentInput {
  readonly memory: SharedArrayBuffer;
  readonly #head: Int32Array;
  readonly #units: Uint16Array;

  constructor(memory = new SharedArrayBuffer(headBytes + 2 * mostUnits)) {
    this.memory = memory;
    this.#head = new Int32Array(memory, 0, 2);
    this.#units = new Uint16Array(memory, headBytes);
  }

  write(input: string): void {
    const length = Math.min(input.length, mostUnits);
    for (let at = 0; at < length; at++) this.#units[at] = input.charCodeAt(at);
    this.#head[1] = length;
    Atomics.add(this.#head, 0, 1);
  }

  /** How many inputs there were so far. */
  get count(): number {
    return Atomics.load(this.#head, 0);
  }

  read(): string {
    const units = this.#units.slice(0, this.#head[1] ?? 0);
    let text = "";
    for (let at = 0; at < units.length; at += 4096)
      text += String.fromCharCode(...units.slice(at, at + 4096));
    return text;
  }
}
