// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets.

import { checkShape, isMap } from "../file/checkShape.ts";
import { readStatus } from "../file/expectation.ts";
import {
  checkBaseUrl,
  checkFilePath,
  readAddress,
  readAllExpected,
  readExpected,
  readTimeout,
  type StepReading,
} from "../file/readValues.ts";
import type { Path } from "../file/yamlSource.ts";
import { quoted } from "../mistakes/problem.ts";
import { readAction, readNamedValue, readSeenElements, readUrlExpectation } from "./browserActions.ts";
import {
  type BrowserResourceFile,
  type BrowserStepFile,
  browserResourceSchema,
  browserStepFileSchema,
  browserStepOutlineSchema,
} from "./browserFile.ts";
import { type Action, type BrowserStep, describeAction } from "./browserStep.ts";
import type { ResourceType } from "./resourceType.ts";

/** The fields of which a step has at least one. */
const doing = ["goto", "actions", "expect", "read", "screenshot", "storage"] as const;

export const browserType: ResourceType<BrowserStep> = {
  type: "browser",
  meaning: "Uses a page as a person would, in a real browser, and looks at what is on it.",
  actions: doing.join(", "),
  file: { resource: browserResourceSchema, step: browserStepFileSchema },
  snippets: {
    resource: { name: "chrome", fields: ', base-url: "${2:http://127.0.0.1:8080}"' },
    step: { name: "the front page", lines: ["goto: ${2:/}", "expect: { text: ${3:Welcome} }"] },
  },
  validResource: { type: "browser", "base-url": "http://127.0.0.1" },
  readResource(entry, path, problems) {
    const shape = { schema: browserResourceSchema, noun: "a browser resource" };
    const resource = checkShape(shape, entry, path, problems);
    if (resource === undefined) return undefined;
    checkBaseUrl({ file: resource, path }, insteadOfPassword, problems);
    if (resource.storage !== undefined) checkFilePath(resource.storage, [...path, "storage"], problems);
    return (step, reading) => {
      const stepShape = {
        schema: browserStepOutlineSchema,
        noun: "a browser step",
        foreign: reading.foreignName,
      };
      const file = checkShape(stepShape, step, reading.path, reading.problems);
      const lists = readLists(step, reading);
      const read = file && readBrowserStep(file, lists, { file: resource, path }, reading);
      // An invalid step might have opened a page, so the next one isn't reported for having none.
      reading.opened.add(nameOf({ path }));
      return read;
    };
  },
};

interface BrowserResource {
  readonly file: BrowserResourceFile;
  readonly path: Path;
}

const viewportByDefault = { width: 1280, height: 720 };
/** Where a user and password belong instead of the address. */
const insteadOfPassword = "fill them in where the page asks for them";

/** Resolves a step against its resource. @returns undefined when it does nothing. */
function readBrowserStep(
  file: BrowserStepFile,
  { actions, elements, read }: ReturnType<typeof readLists>,
  resource: BrowserResource,
  reading: StepReading,
): BrowserStep | undefined {
  const { path, problems } = reading;
  const { goto, screenshot, storage } = file;
  if (doing.every((name) => file[name] === undefined)) {
    problems.add(path, `this step does nothing; a browser step has one or more of ${doing.join(", ")}`);
    return undefined;
  }
  if (goto === undefined && !reading.opened.has(nameOf(resource))) {
    problems.add(
      path,
      `no page is open yet in \`${nameOf(resource)}\`: the first step that uses it has a \`goto\``,
    );
  }
  if (storage !== undefined) checkFilePath(storage, [...path, "storage"], problems);
  const { executable, device } = resource.file;
  return {
    type: "browser",
    name: file.name ?? quoted(nameStep(goto, actions[0])),
    use: file.use,
    browser: {
      executable,
      device,
      viewport: resource.file.viewport ?? (device === undefined ? viewportByDefault : undefined),
      storage: resource.file.storage,
      isTraced: resource.file.trace === undefined ? undefined : true,
    },
    goto:
      goto === undefined
        ? undefined
        : readAddress(goto, [...path, "goto"], resource, insteadOfPassword, problems),
    actions,
    timeoutMilliseconds: readTimeout({ file, path }, resource, problems),
    expect: { ...readExpect(file, reading), elements },
    read,
    screenshot,
    storage,
  };
}

function nameOf({ path }: Pick<BrowserResource, "path">): string {
  return quoted(path.map(String).at(-1) ?? "");
}

function nameStep(goto: string | undefined, first: Action | undefined): string {
  if (goto !== undefined) return `open ${goto}`;
  return first === undefined ? "look at the page" : describeAction(first);
}

function readExpect(file: BrowserStepFile, reading: StepReading): Omit<BrowserStep["expect"], "elements"> {
  const { path, problems } = reading;
  const at = [...path, "expect"];
  const { status, url, title, text } = file.expect ?? {};
  if (status !== undefined && file.goto === undefined) {
    problems.addToName([...at, "status"], "a status is that of a `goto`, and this step has none");
  }
  return {
    status: status === undefined ? undefined : readStatus(status),
    url: readUrlExpectation(url, [...at, "url"], reading),
    title: readExpected(title, [...at, "title"], reading),
    text: text === undefined ? undefined : readAllExpected(text, [...at, "text"], reading),
  };
}

/** Reads the valid entries of a step's lists, also of a step that is invalid elsewhere. */
function readLists(step: unknown, reading: StepReading) {
  const { path } = reading;
  const expect = part(step, "expect");
  const read = part(step, "read");
  return {
    actions: listOf(part(step, "actions")).flatMap(
      (entry, index) => readAction(entry, [...path, "actions", index], reading) ?? [],
    ),
    elements: listOf(part(expect, "elements")).flatMap(
      (entry, index) =>
        readSeenElements(entry, "an element", [...path, "expect", "elements", index], reading) ?? [],
    ),
    read: isMap(read)
      ? Object.entries(read).flatMap(
          ([name, entry]) => readNamedValue(name, entry, [...path, "read", name], reading) ?? [],
        )
      : undefined,
  };
}

function part(value: unknown, name: string): unknown {
  return isMap(value) ? value[name] : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
