interface FunctionText {
  /** The names of its parameters: one with `?` may be left out, and one with `…` may be repeated. */
  readonly parameters: readonly string[];
  /** What it gives, in Markdown. */
  readonly meaning: string;
}

/** The functions of the expressions, with their documentation for hover and completion. */
export const functions = {
  contains: {
    parameters: ["whole", "part"],
    meaning:
      "Whether a text contains a text, or a list an item that is equal. Where a map is looked for, the item may have more members, as in `expect.json`.",
  },
  startsWith: { parameters: ["text", "start"], meaning: "Whether the text begins with `start`." },
  endsWith: { parameters: ["text", "end"], meaning: "Whether the text ends with `end`." },
  format: {
    parameters: ["template", "value…"],
    meaning: "The template with the values in place of `{0}`, `{1}`, …; `{{` and `}}` stand for braces.",
  },
  join: {
    parameters: ["list", "separator?"],
    meaning: "The items of the list as one text, with the separator between them: `,` by default.",
  },
  toJSON: { parameters: ["value"], meaning: "The value as JSON, on one line." },
  fromJSON: { parameters: ["text"], meaning: "The value that the JSON text stands for." },
  length: {
    parameters: ["value"],
    meaning: "How many characters a text, items a list or members a map has.",
  },
  exists: {
    parameters: ["value"],
    meaning: "Whether the value is there. `null` is; a member or a variable that is missing isn't.",
  },
  default: {
    parameters: ["value", "otherwise"],
    meaning: "The value, or `otherwise` when it isn't there. `null` is there.",
  },
  match: {
    parameters: ["text", "pattern"],
    meaning:
      "What the regular expression `'/…/'` finds first in a line of the text: its first group, or else the whole. The flags `i` and `u` may follow. Without a match nothing is there, which `exists` and `default` allow.",
  },
  number: { parameters: ["text"], meaning: "The number that the text stands for, spaces around it aside." },
  text: { parameters: ["value"], meaning: "The value as text: lists and maps as JSON." },
  lower: { parameters: ["text"], meaning: "The text in lower case." },
  upper: { parameters: ["text"], meaning: "The text in upper case." },
  now: { parameters: [], meaning: "The time, such as `2026-11-25T13:00:00.000Z`." },
  uuid: { parameters: [], meaning: "A new random UUID." },
  base64: { parameters: ["text"], meaning: "The text, as UTF-8, in Base64." },
  sha256: { parameters: ["text"], meaning: "The SHA-256 of the text, as UTF-8, in hexadecimal digits." },
  "url-encode": { parameters: ["text"], meaning: "The text, percent-encoded as one piece of an address." },
} as const satisfies Readonly<Record<string, FunctionText>>;

export type FunctionName = keyof typeof functions;

export function isFunctionName(name: string): name is FunctionName {
  return Object.hasOwn(functions, name);
}

export function parametersOf(name: FunctionName): readonly string[] {
  return functions[name].parameters;
}

/** As it is called: `join(list, separator?)`. */
export function signatureOf(name: FunctionName): string {
  return `${name}(${parametersOf(name).join(", ")})`;
}

export type ContextName = "env" | "inputs" | "steps" | "run" | "each" | "this";

interface ContextText {
  /** In Markdown. */
  readonly meaning: string;
  /** Where it can be used, if that isn't everywhere. */
  readonly where?: string;
}

/** What a path of an expression can begin with, with its documentation for hover and completion. */
export const contexts: Readonly<Record<ContextName, ContextText>> = {
  env: { meaning: "The environment: `env.NAME` is the text of a variable." },
  inputs: { meaning: "The run's inputs." },
  steps: { meaning: "The results of the steps before, by `id`." },
  run: { meaning: "The run: `id`, `pipeline`, `project`, `started-at`." },
  each: { meaning: "`value` is the item, and `index` counts from 0.", where: "in a step with `each`" },
  this: { meaning: "The step's own result.", where: "in `expect.that`" },
};

export function isContextName(name: string): name is ContextName {
  return Object.hasOwn(contexts, name);
}
