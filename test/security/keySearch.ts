import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { ifThere } from "../../src/project/systemErrors.ts";

/** A secret that was found where it may not be. */
export interface Find {
  /** Whose secret it is. */
  readonly name: string;
  readonly form: string;
  /** Where: a file, or whatever the caller named. */
  readonly place: string;
}

/** So many characters of a secret in a row are as bad as all of it; fewer could be anything. */
const shortestPiece = 12;
/** Of each piece that is looked for, what is enough to be sure of it. */
const head = 12;

interface Needle {
  readonly name: string;
  readonly form: string;
  readonly text: string;
}

/**
 * Looks for planted secrets in bytes: for each piece of twelve characters of them as it is, backwards, as UTF-16, in hex,
 * percent-encoded and in Base64 (of both alphabets, wherever in a longer text it begins).
 */
export class KeySearch {
  readonly #needles = new Map<string, Needle[]>();
  /** By a mix of their first four bytes, so that nearly every place is passed over at one look. */
  readonly #mayBegin = new Uint8Array(65_536);
  readonly #shortest: number;

  /** @param secrets by a name for each; of a key only what is secret of it. */
  constructor(secrets: Readonly<Record<string, string>>) {
    const needles = Object.entries(secrets).flatMap(([name, secret]) => needlesOf(name, secret));
    for (const needle of needles) {
      const beginning = needle.text.slice(0, head);
      this.#needles.set(beginning, [...(this.#needles.get(beginning) ?? []), needle]);
      const bytes = Buffer.from(beginning, "latin1");
      this.#mayBegin[mix(bytes, 0)] = 1;
    }
    this.#shortest = head;
  }

  /** What there is of the secrets, each form once. */
  in(bytes: Buffer, place: string): Find[] {
    const found = new Map<string, Find>();
    for (let at = 0; at + this.#shortest <= bytes.length; at++) {
      if (this.#mayBegin[mix(bytes, at)] === 0) continue;
      const needles = this.#needles.get(bytes.toString("latin1", at, at + head));
      for (const { name, form, text } of needles ?? []) {
        if (bytes.toString("latin1", at, at + text.length) !== text) continue;
        found.set(`${name} ${form}`, { name, form, place });
      }
    }
    return [...found.values()];
  }

  inText(text: string, place: string): Find[] {
    return this.in(Buffer.from(text), place);
  }

  /** In every file of a folder, and in the files' names. @param isKnown leaves out where a secret has to be. */
  async inFolder(
    folder: string,
    isKnown: (file: string) => boolean = () => false,
  ): Promise<{ readonly finds: Find[]; readonly files: readonly string[] }> {
    const finds: Find[] = [];
    const files: string[] = [];
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const file = relative(folder, path).replaceAll("\\", "/");
      finds.push(...this.inText(file, `the name ${file}`));
      if (!entry.isFile() || isKnown(file)) continue;
      // A program that is just ending may rename what it was writing.
      const content = await ifThere(readFile(path));
      if (content === undefined) continue;
      files.push(file);
      finds.push(...this.in(content, file));
    }
    return { finds, files };
  }
}

function mix(bytes: Buffer, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return (a ^ (b << 3) ^ (c << 6) ^ (d << 8)) & 0xffff;
}

function needlesOf(name: string, secret: string): Needle[] {
  if (secret.length < 2 * shortestPiece) throw new Error(`${name} is too short to be looked for`);
  const needles = new Map<string, Needle>();
  const add = (form: string, text: string) => {
    // A form that changes nothing is the plain one.
    if (!needles.has(text)) needles.set(text, { name, form, text });
  };
  const pieces = windows(secret, shortestPiece);
  for (const piece of pieces) add("plain", piece);
  for (const piece of pieces) {
    add("backwards", [...piece].reverse().join(""));
    add("UTF-16", Buffer.from(piece, "utf16le").toString("latin1"));
    const hex = Buffer.from(piece).toString("hex");
    add("hex", hex);
    add("hex", hex.toUpperCase());
    add("percent-encoded", encodeURIComponent(piece));
    add("percent-encoded", hex.replace(/../g, "%$&"));
    add("percent-encoded", hex.toUpperCase().replace(/../g, "%$&"));
  }
  for (const lead of ["", "x", "xx"]) {
    // What the characters before and after it take part in is left out.
    const encoded = Buffer.from(`${lead}${secret}`).toString("base64").replace(/=+$/, "");
    const sure = encoded.slice(lead === "" ? 0 : 4, encoded.length - (encoded.length % 4 || 4));
    for (let at = 0; at + 16 <= sure.length; at += 4) {
      const piece = sure.slice(at, at + 16);
      add("Base64", piece);
      add("Base64", piece.replaceAll("+", "-").replaceAll("/", "_"));
    }
  }
  return [...needles.values()];
}

function windows(text: string, length: number): string[] {
  return Array.from({ length: text.length - length + 1 }, (_, at) => text.slice(at, at + length));
}
