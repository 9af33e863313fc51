import { createHash } from "node:crypto";
import { Mask } from "../src/service/runner/mask.ts";
import type { Benchmark, Row } from "./benchmark.ts";
import { median } from "./median.ts";

const MiB = 1024 * 1024;
const pieceSize = 64 * 1024;
const rounds = 9;

/** Two tokens of a usual length. What is random in the texts is so in the same way each time. */
const secrets = ["first", "second"].map((seed) => `ghp_${noise(seed, 27).toString("base64url")}`);
const [secret = ""] = secrets;

const line = `2026-03-03T10:00:00.000Z info  [shop] GET /lamps/17?page=2 200 in 12 ms {"user":"ada","tags":["a","b"]}\n`;
const texts: readonly {
  readonly name: string;
  readonly unit: string;
  readonly atMost: number;
  /** In the place of the two tokens. */
  readonly secret?: string;
}[] = [
  { name: "lines of a log", unit: line, atMost: 15 },
  {
    name: "JSON within JSON",
    unit: JSON.stringify(JSON.stringify({ said: line, path: "C:\\shop\\lamps" })),
    atMost: 80,
  },
  { name: "Base64", unit: noise("data", 30_000).toString("base64"), atMost: 40 },
  { name: "all of a secret but its end", unit: secret.slice(0, -1), atMost: 80 },
  { name: "the same in Base64", unit: Buffer.from(secret).toString("base64").slice(0, -4), atMost: 80 },
  { name: "nothing but escapes", unit: "\\\\%25&amp;+", atMost: 200 },
  {
    name: "backslashes, and a UNC path for a secret",
    unit: "\\",
    atMost: 60,
    secret: String.raw`\\fileserver\share`,
  },
  { name: "a letter, and 4,096 of it for a secret", unit: "a", atMost: 400, secret: "a".repeat(4096) },
  {
    name: "lines that take all steps that they may",
    unit: `${"\\".repeat(180)}\n`,
    atMost: 800,
    secret: `${"\\".repeat(60)}x`,
  },
];

/** What masking costs beside what is done anyway with each piece of an output: it is decoded, and written as JSON. */
export const masking: Benchmark = {
  name: "masking",
  decides: "whether the search for secrets keeps up with what programs print, whatever that is",
  measure: async ({ signal }) => {
    const rows: Row[] = [];
    for (const { name, unit, atMost, secret } of texts) {
      const bytes = Buffer.from(unit.repeat(Math.ceil(MiB / unit.length))).subarray(0, MiB);
      const mask = new Mask(secret === undefined ? secrets : [secret]);
      const [plain, masked] = [() => pass(bytes, (text) => text), () => pass(bytes, streamOf(mask))];
      const times: { readonly plain: number; readonly masked: number }[] = [];
      for (let round = -2; round < rounds; round += 1) {
        signal.throwIfAborted();
        const took = { plain: millisecondsOf(plain), masked: millisecondsOf(masked) };
        if (round >= 0) times.push(took);
      }
      const [base, ours] = [
        median(times.map(({ plain }) => plain)),
        median(times.map(({ masked }) => masked)),
      ];
      rows.push({
        name,
        figures: [
          { name: "without, 1 MiB", value: base, unit: "ms" },
          { name: "masked", value: ours, unit: "ms" },
          {
            name: "ratio",
            value: ours / base,
            unit: "×",
            beside: "without",
            goal: { atMost },
          },
        ],
      });
    }
    return { kind: "measured", rounds, tables: [{ rows }] };
  },
};

function streamOf(mask: Mask): (text: string) => string {
  const stream = mask.stream();
  return (text) => stream.write(text);
}

function pass(bytes: Uint8Array, change: (text: string) => string): number {
  const decoder = new TextDecoder();
  let length = 0;
  for (let at = 0; at < bytes.length; at += pieceSize) {
    const text = decoder.decode(bytes.subarray(at, at + pieceSize), { stream: true });
    length += JSON.stringify(change(text)).length;
  }
  return length;
}

function millisecondsOf(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

function noise(seed: string, length: number): Buffer {
  return createHash("shake256", { outputLength: length }).update(seed).digest();
}
