import { checkShape, isMap } from "../checkShape.ts";
import { hasReference } from "../environmentReference.ts";
import { suggestion } from "../nearestName.ts";
import { quoted } from "../quoted.ts";
import type { StepReading } from "../readStep.ts";
import { writtenText } from "../readTexts.ts";
import type { Path } from "../yamlSource.ts";
import type { Action, SeenElements } from "./action.ts";
import { type ActionName, actionFileSchemas, seenElementsFileSchema } from "./browserFile.ts";
import { problemOfKey } from "./problemOfKey.ts";
import { namesTarget, readTarget } from "./readTarget.ts";

const actionNames = Object.keys(actionFileSchemas);

/** One action of a step's list. @returns undefined when it is wrong. */
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
    const near = suggestion(name, actionNames);
    problems.addToName([...path, name], `there is no action \`${quoted(name)}\`${near || `; ${known}`}`);
    return undefined;
  }
  return readNamed(name, entry[name], [...path, name], reading);
}

/** Elements that are waited for or expected. */
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

function isActionName(name: string): name is ActionName {
  return Object.hasOwn(actionFileSchemas, name);
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
    default:
      return name satisfies never;
  }
}

/** `press: Enter` goes to what has the focus; `press: { key: Enter, label: Search }` to the field. */
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
  const problem = hasReference(key) ? undefined : problemOfKey(key);
  if (problem !== undefined) problems.add(path, problem);
}
