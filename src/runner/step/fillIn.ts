import {
  asText,
  ExpressionFault,
  type Json,
  type JsonMap,
  writeJson,
} from "../../pipeline/expression/value.ts";
import { inAddress } from "../../pipeline/file/address.ts";
import { onlyPiece, splitText, type TextPiece } from "../../pipeline/file/textPieces.ts";
import type { PlannedStep } from "../../pipeline/file/values.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import { inResult } from "../../pipeline/types/resultFields.ts";
import { unsetText } from "../../text/unsetVariables.ts";
import { MB } from "./stepContext.ts";

export interface Filling {
  readonly variable: (name: string) => string | undefined;
  /** Where variables are set, for a message: "where the run was started". */
  readonly variablesAt: string;
  /**
   * The value of an expression that is more than a variable.
   * @param scope the scope that it was written for: 0 is the file's, 1 the first part's; undefined is the step's own.
   * @throws ExpressionFault when it has none.
   */
  readonly evaluate: (source: string, scope: number | undefined) => Json;
}

/**
 * Replaces every `${{ … }}` in a step's texts, names of members included, by its value; within an address encoded. Fields that
 * apply before or around the step, such as `if`, are left as they are.
 * @throws ExpressionFault when an expression can't be filled in.
 */
export function fillIn(step: Step, filling: Filling): Step {
  return filledIn(filling, (texts) => mapTexts(step, "", texts));
}

/** The same in values of any type. @throws ExpressionFault */
export function fillValue(value: unknown, filling: Filling): Json {
  return filledIn(filling, (texts) => wholeValue(value, texts));
}

/** The same in the outputs of a file, by their names. @throws ExpressionFault that names the output. */
export function fillOutputs(outputs: Readonly<Record<string, unknown>>, filling: Filling): JsonMap {
  const filled = Object.entries(outputs).map(([name, value]) => {
    try {
      return [name, fillValue(value, filling)] as const;
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      throw new ExpressionFault(`output \`${name}\`: ${error.message}`);
    }
  });
  return Object.fromEntries(filled);
}

/** In UTF-16 units. In an address or a form, one may take nine characters, and V8 allows no text of more than 512 MB. */
const mostFilledIn = 32 * MB;

function filledIn<T>(filling: Filling, map: (texts: Texts) => T): T {
  const texts = new Texts(filling);
  const filled = map(texts);
  if (texts.problem !== undefined) throw new ExpressionFault(texts.problem);
  return filled;
}

/** How a value is written after the text before it; undefined for a value that can't stand there. */
type Join = (before: string, value: string) => string | undefined;

const asItIs: Join = (_, value) => value;

/** Fills texts in, and collects why some can't be. */
class Texts {
  readonly #filling: Filling;
  readonly #missing = new Set<string>();
  #fault: string | undefined;
  #size = 0;

  constructor(filling: Filling) {
    this.#filling = filling;
  }

  /** What can't be filled in. Variables that aren't set are reported together. */
  get problem(): string | undefined {
    return this.#missing.size === 0 ? this.#fault : unsetText([...this.#missing], this.#filling.variablesAt);
  }

  /** An expression that stands alone keeps its type. */
  value(text: string): Json {
    const only = onlyPiece(piecesOf(text));
    if (only === undefined) return this.text(text, asItIs);
    const value = this.#valueOf(only);
    this.#asText(value);
    return value;
  }

  text(text: string, join: Join): string {
    return piecesOf(text).reduce((before, piece) => {
      if (piece.kind === "words") return before + piece.words;
      const fitting = join(before, this.#asText(this.#valueOf(piece)));
      const what = piece.kind === "variable" ? piece.name : piece.source.trim();
      if (fitting === undefined)
        this.#fault ??= `with the value of \`${what}\` a part of the address is \`.\` or \`..\`, which would make another path of it`;
      return before + (fitting ?? "");
    }, "");
  }

  /** @throws ExpressionFault once all that is filled in is too large. */
  #asText(value: Json): string {
    const text = this.#caught(() => asText(value));
    this.#size += text.length;
    if (this.#size <= mostFilledIn) return text;
    const most = `${mostFilledIn / MB} MB`;
    throw new ExpressionFault(
      `the values that are filled in here are larger than ${most} together, the most there may be`,
    );
  }

  #caught<T extends Json>(make: () => T): T | "" {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      this.#fault ??= error.message;
      return "";
    }
  }

  #valueOf(piece: TextPiece): Json {
    switch (piece.kind) {
      case "words":
        return piece.words;
      case "variable": {
        const value = this.#filling.variable(piece.name);
        if (value === undefined) this.#missing.add(piece.name);
        return value ?? "";
      }
      case "source":
        return this.#caught(() => this.#filling.evaluate(piece.source, piece.scope));
    }
  }
}

/** The parser has rejected invalid texts, so a text that can't be split here only looks like an expression. */
function piecesOf(text: string): readonly TextPiece[] {
  const split = splitText(text);
  return split.kind === "valid" ? split.pieces : [{ kind: "words", words: text }];
}

/** The places in a step that hold values of any type, and those of an address. */
const anyValue =
  /^\/(?:actions\/\d+\/variables|read\/\d+\/evaluate\/variables|query|body\/(?:value|fields)|expect\/(?:json\/value|rows)|work\/statements\/\d+\/params)$/;
const anAddress = /^\/(?:address|goto|background\/http)(?:\/|$)/;

/** The fields that every step has, and that apply before or around it. */
const planFields: Readonly<Record<keyof PlannedStep, true>> = {
  name: true,
  use: true,
  id: true,
  part: true,
  isCleanup: true,
  if: true,
  each: true,
  retry: true,
  goesOn: true,
  mask: true,
  that: true,
};

/** @param path where the value is in its step: `/expect/json`. */
function mapTexts<T>(value: T, path: string, texts: Texts): T;
function mapTexts(value: unknown, path: string, texts: Texts): unknown {
  if (value === undefined) return undefined;
  if (anyValue.test(path)) return wholeValue(value, texts);
  if (typeof value === "string") return texts.text(value, anAddress.test(path) ? inAddress : asItIs);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, `${path}/${index}`, texts));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) =>
      path === "" && Object.hasOwn(planFields, name)
        ? [name, item]
        : [texts.text(name, asItIs), mapTexts(item, `${path}/${name}`, texts)],
    ),
  );
}

/** Throws for a value that can't be written as JSON, before anything is sent. */
function wholeValue(value: unknown, texts: Texts): Json {
  const filled = mapValue(value, texts);
  writeJson(filled);
  return filled;
}

function mapValue(value: unknown, texts: Texts): Json {
  if (Array.isArray(value)) return value.map((item) => mapValue(item, texts));
  switch (typeof value) {
    case "string":
      return texts.value(value);
    case "number":
    case "boolean":
    case "bigint":
      return value;
    case "object":
      return value === null
        ? null
        : Object.fromEntries(
            Object.entries(value).map(([name, item]) => [texts.text(name, asItIs), mapValue(item, texts)]),
          );
    default:
      return null;
  }
}

/** What a pipeline's expressions are about. */
export interface Written {
  readonly variables: ReadonlySet<string>;
  /** The expressions that are more than a variable, each without braces. */
  readonly expressions: ReadonlySet<string>;
}

export function writtenIn(pipeline: Pipeline): Written {
  const variables = new Set<string>();
  const expressions = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value === "string") {
      if (!value.includes("${{")) return;
      for (const piece of piecesOf(value)) {
        if (piece.kind === "variable") variables.add(piece.name);
        else if (piece.kind === "source") expressions.add(piece.source);
      }
    } else if (Array.isArray(value)) {
      value.forEach(visit);
    } else if (typeof value === "object" && value !== null) {
      Object.keys(value).forEach(visit);
      Object.values(value).forEach(visit);
    }
  };
  visit(pipeline);
  for (const { if: condition, that = [], mask = [] } of pipeline.steps) {
    for (const text of [condition ?? [], that, mask.map(inResult)].flat()) expressions.add(text);
  }
  for (const { if: condition } of pipeline.parts ?? [])
    if (condition !== undefined) expressions.add(condition);
  return { variables, expressions };
}
