import { checkShape, isMap } from "../file/checkShape.ts";
import {
  checkNumbers,
  checkReadPath,
  readExpected,
  type StepReading,
  writtenText,
} from "../file/readValues.ts";
import { hasExpression } from "../file/textPieces.ts";
import type { TextExpectation } from "../file/values.ts";
import type { Path } from "../file/yamlSource.ts";
import { foreignWord } from "../mistakes/foreignWords.ts";
import { quoted, suggestion } from "../mistakes/problem.ts";
import {
  type ActionName,
  actionFileSchemas,
  actionNames,
  dialogAnswers,
  isActionName,
  keyNames,
  modifiers,
  readFileSchema,
  seenElementsFileSchema,
  type TargetFile,
} from "./browserFile.ts";
import {
  type Action,
  type BrowserStep,
  type ElementTarget,
  type FrameTarget,
  functionOf,
  type Script,
  type SeenElements,
} from "./browserStep.ts";
import { everyResultField, resultFields } from "./resultFields.ts";

const resultNames: readonly string[] = [...resultFields.browser, ...everyResultField];

/** Reads an action of a step. @returns undefined when it is invalid. */
export function readAction(entry: unknown, path: Path, reading: StepReading): Action | undefined {
  const { problems } = reading;
  const known = `the actions are ${actionNames.join(", ")}`;
  const names = isMap(entry) ? Object.keys(entry) : [];
  const [name, ...others] = names;
  if (!isMap(entry) || name === undefined) {
    problems.add(path, `an action is a map such as \`click: { role: button, name: Go }\`; ${known}`);
    return undefined;
  }
  for (const other of others) {
    problems.addToName(
      [...path, other],
      `an entry of \`actions\` is one action, and this one already has \`${quoted(name)}\``,
    );
  }
  if (!isActionName(name)) {
    const near =
      name === "frame"
        ? "; an element says which one it is in: `click: { role: button, name: Pay, frame: { name: card } }`"
        : hintOfAction(name);
    problems.addToName([...path, name], `there is no action \`${quoted(name)}\`${near || `; ${known}`}`);
    return undefined;
  }
  return readNamed(name, entry[name], [...path, name], reading);
}

function hintOfAction(name: string): string {
  const word = foreignWord(name, actionNames);
  if (word === undefined) return suggestion(name, actionNames);
  return word.how === undefined ? `; did you mean \`${word.field}\`?` : `; ${word.how}`;
}

/** Reads elements that are waited for or expected. */
export function readSeenElements(
  entry: unknown,
  noun: string,
  path: Path,
  reading: StepReading,
): SeenElements | undefined {
  const file = checkShape({ schema: seenElementsFileSchema, noun }, entry, path, reading.problems);
  const target = file && readTarget(file, path, reading);
  return target && { target, count: file.count };
}

function readNamed(name: ActionName, value: unknown, path: Path, reading: StepReading): Action | undefined {
  const { problems, source } = reading;
  const noun = `\`${name}\``;
  switch (name) {
    case "click":
    case "check":
    case "uncheck": {
      const file = checkShape({ schema: actionFileSchemas[name], noun }, value, path, problems);
      const target = file && readTarget(file, path, reading);
      return target && { kind: name, target };
    }
    case "fill": {
      const file = checkShape({ schema: actionFileSchemas.fill, noun }, value, path, problems);
      const target = file && readTarget(file, path, reading);
      return target && { kind: "fill", target, with: writtenText(file.with, [...path, "with"], source) };
    }
    case "press":
      return readPress(value, path, reading);
    case "select": {
      const file = checkShape({ schema: actionFileSchemas.select, noun }, value, path, problems);
      const target = file && readTarget(file, path, reading);
      return (
        target && { kind: "select", target, option: writtenText(file.option, [...path, "option"], source) }
      );
    }
    case "wait-for": {
      const seen = readSeenElements(value, noun, path, reading);
      return seen && { kind: "wait-for", ...seen };
    }
    case "evaluate": {
      const script = readScript(value, path, reading);
      return script && { kind: "evaluate", ...script };
    }
    case "upload": {
      const file = checkShape({ schema: actionFileSchemas.upload, noun }, value, path, problems);
      const target = file && readTarget(file, path, reading);
      for (const [index, one] of [file?.file ?? []].flat().entries())
        checkReadPath(one, [...path, "file", ...(file?.file === one ? [] : [index])], problems);
      return target && { kind: "upload", target, files: [file.file].flat() };
    }
    case "download": {
      const file = checkShape({ schema: actionFileSchemas.download, noun }, value, path, problems);
      const target = file && readTarget(file, path, reading);
      return target && { kind: "download", target, as: file.as };
    }
    case "dialog":
      return readDialog(value, path, reading);
    case "tab": {
      const file = checkShape({ schema: actionFileSchemas.tab, noun }, value, path, problems);
      if (file === undefined) return undefined;
      const { title, url } = file;
      if (title === undefined && url === undefined)
        problems.add(path, "this names no tab; it needs `title` or `url`");
      return {
        kind: "tab",
        title: readExpected(title, [...path, "title"], reading),
        url: readUrlExpectation(url, [...path, "url"], reading),
      };
    }
    default:
      return name satisfies never;
  }
}

/** Adds a hint to a problem: a path of two parts looks like a regular expression with unknown flags. */
export function readUrlExpectation(
  value: string | number | boolean | undefined,
  path: Path,
  reading: StepReading,
): TextExpectation | undefined {
  const instead = (text: string) => quoted(text.replace(/^\//, ""));
  const hintOf = (text: string) => `; to find a path, leave out its first slash: \`${instead(text)}\``;
  return readExpected(value, path, reading, hintOf);
}

/** Reads what a step's `read` names. @returns undefined when it is invalid. */
export function readNamedValue(
  name: string,
  entry: unknown,
  path: Path,
  reading: StepReading,
): NonNullable<BrowserStep["read"]>[number] | undefined {
  const { problems } = reading;
  if (resultNames.includes(name)) problems.addToName(path, `the result of a step has its own \`${name}\``);
  const file = checkShape({ schema: readFileSchema, noun: `\`${quoted(name)}\`` }, entry, path, problems);
  if (file === undefined) return undefined;
  if (file.evaluate === undefined) {
    const target = readTarget(file, path, reading);
    return target && { name, target };
  }
  if (namesTarget(file)) problems.add(path, "this is an element or `evaluate`, not both");
  const evaluate = readScript(file.evaluate, [...path, "evaluate"], reading);
  return evaluate && { name, evaluate };
}

/** `evaluate: document.title` is a script by itself, `evaluate: { script: …, with: … }` one with variables. */
function readScript(value: unknown, path: Path, reading: StepReading): Script | undefined {
  const { problems } = reading;
  if (typeof value !== "string" && !isMap(value)) {
    problems.add(
      path,
      "expected a script such as `document.title`, or a map such as `{ script: …, with: { … } }`",
    );
    return undefined;
  }
  const entry = isMap(value) ? value : { script: value };
  const file = checkShape({ schema: actionFileSchemas.evaluate, noun: "`evaluate`" }, entry, path, problems);
  if (file === undefined) return undefined;
  const { script, with: variables = {} } = file;
  checkNumbers(variables, [...path, "with"], reading);
  const made = hasExpression(script) ? undefined : functionOf(script, Object.keys(variables));
  if (made?.kind === "invalid")
    problems.add(isMap(value) ? [...path, "script"] : path, `this is no JavaScript: ${made.problem}`);
  return { script, variables };
}

/** `dialog: accept` answers any dialog, `dialog: { text: Ada }` one that asks for a text. */
function readDialog(value: unknown, path: Path, reading: StepReading): Action | undefined {
  const { problems, source } = reading;
  const answer = dialogAnswers.find((known) => known === value);
  if (answer !== undefined) return { kind: "dialog", answer };
  if (!isMap(value)) {
    problems.add(
      path,
      "expected `accept`, `dismiss`, or a map such as `{ text: Ada }`, which accepts with a text",
    );
    return undefined;
  }
  const file = checkShape({ schema: actionFileSchemas.dialog, noun: "`dialog`" }, value, path, problems);
  return (
    file && { kind: "dialog", answer: "accept", text: writtenText(file.text, [...path, "text"], source) }
  );
}

/** `press: Enter` is sent to the focused element, `press: { key: Enter, label: Search }` to the field. */
function readPress(value: unknown, path: Path, reading: StepReading): Action | undefined {
  const { problems } = reading;
  if (typeof value === "string" && value !== "") {
    checkKey(value, path, reading);
    return { kind: "press", key: value };
  }
  if (!isMap(value)) {
    problems.add(path, "expected a key such as Enter, or a map such as `{ key: Enter, label: Search }`");
    return undefined;
  }
  const file = checkShape({ schema: actionFileSchemas.press, noun: "`press`" }, value, path, problems);
  if (file === undefined) return undefined;
  checkKey(file.key, [...path, "key"], reading);
  if (!namesTarget(file)) return { kind: "press", key: file.key };
  const target = readTarget(file, path, reading);
  return target && { kind: "press", key: file.key, target };
}

function checkKey(key: string, path: Path, { problems }: StepReading): void {
  const problem = hasExpression(key) ? undefined : problemOfKey(key);
  if (problem !== undefined) problems.add(path, problem);
}

const ways = ["role", "label", "placeholder", "test-id", "css"] as const;

function namesTarget(file: TargetFile): boolean {
  const named = ["text", "name", "frame", ...ways] as const;
  return named.some((way) => file[way] !== undefined);
}

function readTarget(file: TargetFile, path: Path, reading: StepReading): ElementTarget | undefined {
  const target = readElement(file, path, reading);
  const frame = file.frame && readFrame(file.frame, [...path, "frame"], reading);
  return target && frame ? { ...target, frame } : target;
}

function readFrame(file: NonNullable<TargetFile["frame"]>, path: Path, reading: StepReading): FrameTarget {
  const { title, name, css } = file;
  const testId = file["test-id"];
  if (Object.keys(file).length === 0)
    reading.problems.add(path, "this names no frame; it needs one of title, name, test-id, css");
  return {
    title: readExpected(title, [...path, "title"], reading),
    name: readExpected(name, [...path, "name"], reading),
    testId: testId === undefined ? undefined : writtenText(testId, [...path, "test-id"], reading.source),
    css,
  };
}

/** @returns undefined unless the element is named in exactly one way. */
function readElement(file: TargetFile, path: Path, reading: StepReading): ElementTarget | undefined {
  const { problems, source } = reading;
  const [way, ...others] = ways.filter((name) => file[name] !== undefined);
  for (const other of others) {
    problems.addToName(
      [...path, other],
      `an element is said in one way, and this one already has \`${way}\``,
    );
  }
  if (others.length > 0) return undefined;
  if (file.name !== undefined && way !== "role") {
    problems.addToName([...path, "name"], "`name` stands beside a `role`");
    return undefined;
  }
  const expected = (name: "name" | "label" | "placeholder" | "text") =>
    readExpected(file[name], [...path, name], reading);
  const text = expected("text");
  if (way === undefined) {
    if (file.text === undefined) {
      problems.add(
        path,
        "this names no element; it needs one of role, label, placeholder, test-id, css, text",
      );
    }
    return text && { kind: "text", text };
  }
  if (text !== undefined && (way === "label" || way === "placeholder")) {
    problems.addToName([...path, "text"], `\`text\` can't stand beside \`${way}\``);
    return undefined;
  }
  switch (way) {
    case "role":
      return file.role && { kind: "role", role: file.role, name: expected("name"), text };
    case "label": {
      const label = expected("label");
      return label && { kind: "label", label };
    }
    case "placeholder": {
      const placeholder = expected("placeholder");
      return placeholder && { kind: "placeholder", placeholder };
    }
    case "test-id": {
      const testId = writtenText(file["test-id"] ?? "", [...path, "test-id"], source);
      return { kind: "test-id", testId, text };
    }
    case "css":
      return { kind: "css", selector: file.css ?? "", text };
    default:
      return way satisfies never;
  }
}

/** Checks `Enter`, `a` or `Control+Shift+K`: modifiers and then one key. @returns undefined for valid keys. */
function problemOfKey(written: string): string | undefined {
  // A plus may be the key itself: `+`, `Control++`.
  const [, before = "", key = ""] = /^((?:[^+]+\+)*)([^+]+|\+)$/s.exec(written) ?? [];
  const held = before.split("+").filter((name) => name !== "");
  const wrong = held.find((name) => !modifiers.includes(name));
  if (wrong !== undefined) {
    const near = suggestion(wrong, modifiers);
    return `\`${quoted(wrong)}\` can't be held while another key is pressed${near || `; these can: ${modifiers.join(", ")}`}`;
  }
  if (/^[\x20-\x7e]$/.test(key) || keyNames.includes(key)) return undefined;
  const near = suggestion(key, keyNames);
  return `there is no key \`${quoted(key || written)}\`${near || "; a key is one character, or a name such as Enter, Tab, Escape or ArrowDown"}`;
}
