import assert from "node:assert/strict";
import type { Tools } from "../../../src/pipeline/expression/callFunction.ts";
import type { Contexts } from "../../../src/pipeline/expression/evaluate.ts";
import type { Expression } from "../../../src/pipeline/expression/expression.ts";
import { contexts as contextTexts, isContextName } from "../../../src/pipeline/expression/names.ts";
import { parseExpression } from "../../../src/pipeline/expression/parseExpression.ts";
import type { JsonMap } from "../../../src/pipeline/expression/value.ts";

/** Stand-ins that always give the same. */
export const tools: Tools = {
  now: () => new Date("2026-11-25T13:00:00Z"),
  uuid: () => "00000000-0000-4000-8000-000000000000",
  sha256: (text) => `sha256 of ${text}`,
  match: (pattern, text) => {
    for (const line of text.split("\n")) {
      const found = pattern.exec(line);
      if (found !== null) return found;
    }
    return null;
  },
  hide: (text) => text,
};

export const everything = Object.keys(contextTexts).filter(isContextName);

export const inputs: JsonMap = {
  two: 2,
  "base-url": "http://h",
  yes: true,
  no: false,
  none: null,
  text: "Straße 😀",
  list: [1, "a", null, { id: 1, name: "x", tags: ["t", "u"] }, { id: 2 }],
  map: { b: 1, a: [1, 2] },
  same: { a: [1, 2], b: 1.0 },
  big: 9007199254740993n,
  empty: {},
};

export const contexts: Contexts = {
  env: (name) => (name === "SHOP" ? "http://shop" : undefined),
  inputs,
  steps: { order: { json: { id: 7, total: 3.5, error: null }, headers: {} } },
  run: { id: "r1" },
};

/** A valid expression. */
export function parsed(text: string): Expression {
  const result = parseExpression(text, everything);
  assert(result.kind === "valid", `${text}: ${result.kind === "invalid" ? result.problem : ""}`);
  return result.expression;
}
