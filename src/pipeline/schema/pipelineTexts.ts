import { timeLimit } from "../../contract/limits.ts";
import type { FieldText, FieldTexts } from "./fieldTexts.ts";

/** The outermost fields of the file. */
export const pipelineTexts: FieldTexts = {
  $schema: { meaning: "Where the JSON Schema of this file lies, for editors. It is not read." },
  name: {
    meaning: "The pipeline's name, by which it is run.",
    byDefault: "the file's name without its extension",
    bounds: "a letter or digit, then letters, digits, `.`, `_` and `-`; at most 200 of them",
  },
  "time-limit": {
    meaning: "How long a run may take. When it is over, the run is stopped.",
    byDefault: `\`${timeLimit.byDefault}s\``,
    bounds: "whole seconds, from `1s` to `1h`",
    values: ["30s", "60s", "5m", "15m", "1h"],
  },
  resources: {
    meaning: "What the steps work with: a map of names of your own to resources, each of a `type`.",
    byDefault: "none",
  },
  steps: {
    meaning: "What is done, one after the other. The first step that fails fails the run.",
    bounds: "at least one step",
  },
};

/** What every step has, whatever its resource. */
export const everyStepTexts: FieldTexts = {
  name: {
    meaning: "What the step is called wherever it is shown.",
    byDefault: "its action, such as `GET /health`",
  },
  use: {
    meaning:
      "The name of the resource that the step works with. Its type decides what else the step can have.",
  },
};

/** A resource's `type`, whatever it is. */
export const typeText: FieldText = {
  meaning: "What kind of thing the resource is; it decides what the steps that use it can do.",
  bounds: "`http`, `sql`, `browser` or `cli`",
};

/** The resource types in a sentence each. */
export const typeMeanings = {
  http: "Sends a request and looks at the reply.",
  sql: "Runs statements on SQLite or PostgreSQL and looks at what they return.",
  browser: "Uses a page as a person would, in a real browser, and looks at what is on it.",
  cli: "Runs a program of this machine and looks at how it ends and what it prints.",
} as const;

/** Said of each field that is compared with a text. */
export const expectedText = "as it stands, or between slashes a regular expression that some line matches";
/** Said of each `timeout`. */
export const timeoutBounds = "from `1ms` to `1h`";
export const timeoutValues = ["1s", "5s", "10s", "30s", "1m"] as const;
