// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets.
import { readStatus } from "../file/expectation.ts";
import {
  checkBaseUrl,
  checkFilePath,
  checkNumbers,
  checkReadPath,
  readAddress,
  readAllExpected,
  readExpected,
  readTimeout,
  type StepReading,
  writtenText,
} from "../file/readValues.ts";
import { hasExpression } from "../file/textPieces.ts";
import type { TextExpectation } from "../file/values.ts";
import type { Path } from "../file/yamlSource.ts";
import { quoted, suggestion } from "../mistakes/problem.ts";
import { checkAuth, insteadOfPassword, readAuth } from "./basicAuth.ts";
import {
  type ActionFile,
  anAction,
  type BrowserResourceFile,
  type BrowserStepFile,
  browserResourceSchema,
  browserStepFileSchema,
  keyNames,
  modifiers,
  type ReadFile,
  type ScriptFile,
  type SeenElementsFile,
  type TargetFile,
} from "./browserFile.ts";
import {
  type Action,
  type BrowserStep,
  describeAction,
  type ElementTarget,
  type FrameTarget,
  functionOf,
  type Script,
  type SeenElements,
} from "./browserStep.ts";
import { type ReadResource, resourceType } from "./resourceType.ts";
import { everyResultField, resultFields } from "./resultFields.ts";

/** The fields of which a step has at least one. */
const doing = ["goto", "actions", "expect", "read", "screenshot", "storage"] as const;

export const browserType = resourceType({
  type: "browser",
  meaning: "Uses a page as a person would, in a real browser, and looks at what is on it.",
  actions: `one or more of ${doing.join(", ")}`,
  file: { resource: browserResourceSchema, step: browserStepFileSchema },
  snippets: {
    resource: { name: "chrome", fields: ', base-url: "${2:http://127.0.0.1:8080}"' },
    step: { name: "the front page", lines: ["goto: ${2:/}", "expect: { text: ${3:Welcome} }"] },
  },
  validResource: { type: "browser", "base-url": "http://127.0.0.1" },
  readResource(resource, problems) {
    const { file, path } = resource;
    checkBaseUrl(resource, insteadOfPassword, problems);
    checkAuth(file, path, problems);
    if (file.storage !== undefined) checkFilePath(file.storage, [...path, "storage"], problems);
    return (step, reading) => readBrowserStep(step, resource, reading);
  },
});

type BrowserResource = ReadResource<BrowserResourceFile>;

const viewportByDefault = { width: 1280, height: 720 };

/** Resolves a step against its resource. @returns undefined when it does nothing. */
function readBrowserStep(
  file: BrowserStepFile,
  resource: BrowserResource,
  reading: StepReading,
): BrowserStep | undefined {
  const { path, problems, source } = reading;
  const { goto, screenshot, storage } = file;
  if (doing.every((name) => file[name] === undefined)) return undefined;
  const resourceName = String(resource.path.at(-1));
  if (goto === undefined && !reading.opened.has(resourceName)) {
    problems.add(
      path,
      `no page is open yet in \`${quoted(resourceName)}\`: the first step that uses it has a \`goto\``,
    );
  }
  if (storage !== undefined) checkFilePath(storage, [...path, "storage"], problems);
  const { executable, device, "base-url": base } = resource.file;
  const auth = readAuth(resource.file, resource.path, source);
  const actions = file.actions?.flatMap(
    (action, index) => readAction(action, [...path, "actions", index], reading) ?? [],
  );
  return {
    type: "browser",
    name: file.name ?? quoted(nameStep(goto, actions?.[0])),
    use: file.use,
    browser: {
      executable,
      auth: auth && { ...auth, base },
      device,
      viewport: resource.file.viewport ?? (device === undefined ? viewportByDefault : undefined),
      storage: resource.file.storage,
      isTraced: resource.file.trace === undefined ? undefined : true,
    },
    goto:
      goto === undefined
        ? undefined
        : readAddress(goto, [...path, "goto"], resource, insteadOfPassword, problems),
    actions: actions ?? [],
    timeoutMilliseconds: readTimeout({ file, path }, resource, problems),
    expect: readExpect(file, reading),
    read:
      file.read &&
      Object.entries(file.read).flatMap(
        ([name, read]) => readNamedValue(name, read, [...path, "read", name], reading) ?? [],
      ),
    screenshot,
    storage,
  };
}

function nameStep(goto: string | undefined, first: Action | undefined): string {
  if (goto !== undefined) return `open ${goto}`;
  return first === undefined ? "look at the page" : describeAction(first);
}

function readExpect(file: BrowserStepFile, reading: StepReading): BrowserStep["expect"] {
  const { path, problems } = reading;
  const at = [...path, "expect"];
  const { status, url, title, text, elements = [] } = file.expect ?? {};
  if (status !== undefined && file.goto === undefined) {
    problems.addToName([...at, "status"], "a status is that of a `goto`, and this step has none");
  }
  return {
    status: status === undefined ? undefined : readStatus(status),
    url: readUrlExpectation(url, [...at, "url"], reading),
    title: readExpected(title, [...at, "title"], reading),
    text: text === undefined ? undefined : readAllExpected(text, [...at, "text"], reading),
    elements: elements.flatMap(
      (element, index) => readSeenElements(element, [...at, "elements", index], reading) ?? [],
    ),
  };
}

const resultNames = Object.keys({ ...resultFields.browser, ...everyResultField });

/** Reads an action of a step. @returns undefined when it is invalid. */
function readAction(file: ActionFile, at: Path, reading: StepReading): Action | undefined {
  const { problems, source } = reading;
  const [name, ...others] = Object.keys(file);
  if (name === undefined) problems.add(at, anAction);
  for (const other of others)
    problems.addToName(
      [...at, other],
      `an entry of \`actions\` is one action, and this one already has \`${name}\``,
    );
  if (name === undefined || others.length > 0) return undefined;
  const path = [...at, name];
  const written = (text: string | number | boolean, field: string) =>
    writtenText(text, [...path, field], source);
  const { evaluate, dialog, tab, press, fill, select, upload, download, "wait-for": seen } = file;
  if (evaluate !== undefined) return { kind: "evaluate", ...readScript(evaluate, path, reading) };
  if (typeof dialog === "string") return { kind: "dialog", answer: dialog };
  if (dialog !== undefined) return { kind: "dialog", answer: "accept", text: written(dialog.text, "text") };
  if (tab !== undefined) {
    const { title, url } = tab;
    if (title === undefined && url === undefined)
      problems.add(path, "this names no tab; it needs `title` or `url`");
    return {
      kind: "tab",
      title: readExpected(title, [...path, "title"], reading),
      url: readUrlExpectation(url, [...path, "url"], reading),
    };
  }
  if (press !== undefined) checkKey(press, path, reading);
  if (typeof press === "string") return { kind: "press", key: press };
  if (press !== undefined && !namesTarget(press)) return { kind: "press", key: press.key };
  const element = press ?? fill ?? select ?? upload ?? download ?? seen ?? file.click ?? file.check;
  const target = readTarget(element ?? file.uncheck ?? {}, path, reading);
  if (target === undefined) return undefined;
  if (press !== undefined) return { kind: "press", key: press.key, target };
  if (fill !== undefined) return { kind: "fill", target, with: written(fill.with, "with") };
  if (select !== undefined) return { kind: "select", target, option: written(select.option, "option") };
  if (download !== undefined) return { kind: "download", target, as: download.as };
  if (seen !== undefined) return { kind: "wait-for", target, count: seen.count };
  if (upload !== undefined) {
    const files = [upload.file].flat();
    for (const [index, one] of files.entries())
      checkReadPath(one, [...path, "file", ...(upload.file === one ? [] : [index])], problems);
    return { kind: "upload", target, files };
  }
  return { kind: file.click ? "click" : file.check ? "check" : "uncheck", target };
}

function readSeenElements(
  file: SeenElementsFile,
  path: Path,
  reading: StepReading,
): SeenElements | undefined {
  const target = readTarget(file, path, reading);
  return target && { target, count: file.count };
}

/** Adds a hint to a problem: a path of two parts looks like a regular expression with unknown flags. */
function readUrlExpectation(
  value: string | number | boolean | undefined,
  path: Path,
  reading: StepReading,
): TextExpectation | undefined {
  const instead = (text: string) => quoted(text.replace(/^\//, ""));
  const hintOf = (text: string) => `; to find a path, leave out its first slash: \`${instead(text)}\``;
  return readExpected(value, path, reading, hintOf);
}

/** Reads what a step's `read` names. @returns undefined when it is invalid. */
function readNamedValue(
  name: string,
  file: ReadFile,
  path: Path,
  reading: StepReading,
): NonNullable<BrowserStep["read"]>[number] | undefined {
  const { problems } = reading;
  if (resultNames.includes(name)) problems.addToName(path, `the result of a step has its own \`${name}\``);
  if (file.evaluate === undefined) {
    const target = readTarget(file, path, reading);
    return target && { name, target };
  }
  if (namesTarget(file)) problems.add(path, "this is an element or `evaluate`, not both");
  return { name, evaluate: readScript(file.evaluate, [...path, "evaluate"], reading) };
}

/** `evaluate: document.title` is a script by itself, `evaluate: { script: …, with: … }` one with variables. */
function readScript(file: ScriptFile, path: Path, reading: StepReading): Script {
  const { script, with: variables = {} } = typeof file === "string" ? { script: file } : file;
  checkNumbers(variables, [...path, "with"], reading);
  const made = hasExpression(script) ? undefined : functionOf(script, Object.keys(variables));
  if (made?.kind === "invalid")
    reading.problems.add(
      typeof file === "string" ? path : [...path, "script"],
      `this is no JavaScript: ${made.problem}`,
    );
  return { script, variables };
}

/** `press: Enter` is sent to the focused element, `press: { key: Enter, label: Search }` to the field. */
function checkKey(press: string | { readonly key: string }, path: Path, { problems }: StepReading): void {
  const key = typeof press === "string" ? press : press.key;
  const problem = hasExpression(key) ? undefined : problemOfKey(key);
  if (problem !== undefined) problems.add(typeof press === "string" ? path : [...path, "key"], problem);
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
      return { kind: "role", role: file.role ?? "", name: expected("name"), text };
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
