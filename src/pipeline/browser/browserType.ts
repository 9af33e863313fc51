import { isAbsolute, joinAddress, problemOfUrl } from "../address.ts";
import { checkShape, isMap } from "../checkShape.ts";
import { hasReference } from "../environmentReference.ts";
import { readStatus } from "../expectedStatus.ts";
import { quoted } from "../quoted.ts";
import type { StepReading } from "../readStep.ts";
import { readExpected, readTimeout, writtenText } from "../readTexts.ts";
import type { ResourceType } from "../resourceType.ts";
import { readTextExpectation, type TextExpectation } from "../textExpectation.ts";
import type { Path } from "../yamlSource.ts";
import {
  type BrowserResourceFile,
  type BrowserStepFile,
  browserResourceSchema,
  browserStepOutlineSchema,
} from "./browserFile.ts";
import { type Action, type BrowserStep, describeAction, type SeenElements } from "./browserStep.ts";
import { readAction, readSeenElements } from "./readAction.ts";

export const browserType: ResourceType = {
  type: "browser",
  actions: "goto, actions, expect, screenshot",
  stepNames: Object.keys(browserStepOutlineSchema.def.shape),
  standIn: { type: "browser", "base-url": "http://127.0.0.1" },
  readResource(entry, path, problems) {
    const shape = { schema: browserResourceSchema, noun: "a browser resource" };
    const resource = checkShape(shape, entry, path, problems);
    if (resource === undefined) return undefined;
    const base = resource["base-url"];
    const problem =
      base === undefined || hasReference(base) ? undefined : problemOfUrl(base, insteadOfPassword);
    if (problem !== undefined) problems.add([...path, "base-url"], problem);
    // Steps are read in their order, so the first one that uses this resource is the first one read.
    let isOpen = false;
    return (step, reading) => {
      const stepShape = {
        schema: browserStepOutlineSchema,
        noun: "a browser step",
        foreign: reading.foreignName,
      };
      const file = checkShape(stepShape, step, reading.path, reading.problems);
      const lists = readLists(step, reading);
      const read = file && readBrowserStep(file, lists, { file: resource, path, isOpen }, reading);
      // One that is wrong would have opened a page perhaps, so the next isn't blamed for having none.
      isOpen = true;
      return read;
    };
  },
};

interface BrowserResource {
  readonly file: BrowserResourceFile;
  readonly path: Path;
  /** Whether a step before this one has opened a page. */
  readonly isOpen: boolean;
}

const viewportByDefault = { width: 1280, height: 720 };
/** Where a user and password of an address belong. */
const insteadOfPassword = "fill them in where the page asks for them";

/** A browser step with its resource's browser and address. @returns undefined when it does nothing at all. */
function readBrowserStep(
  file: BrowserStepFile,
  { actions, elements }: StepLists,
  resource: BrowserResource,
  reading: StepReading,
): BrowserStep | undefined {
  const { path, problems } = reading;
  const { goto, expect, screenshot } = file;
  if (goto === undefined && file.actions === undefined && expect === undefined && screenshot === undefined) {
    problems.add(
      path,
      "this step does nothing; a browser step has one or more of goto, actions, expect, screenshot",
    );
    return undefined;
  }
  if (goto === undefined && !resource.isOpen) {
    problems.add(
      path,
      `no page is open yet in \`${nameOf(resource)}\`: the first step that uses it has a \`goto\``,
    );
  }
  return {
    type: "browser",
    name: file.name ?? quoted(nameStep(goto, actions[0])),
    use: file.use,
    browser: {
      executable: resource.file.executable,
      viewport: resource.file.viewport ?? viewportByDefault,
    },
    goto: goto === undefined ? undefined : readAddress(goto, resource, reading),
    actions,
    timeoutMilliseconds: readTimeout({ file, path }, resource, problems),
    expect: { ...readExpect(file, reading), elements },
    screenshot,
  };
}

function nameOf({ path }: BrowserResource): string {
  return quoted(path.map(String).at(-1) ?? "");
}

function nameStep(goto: string | undefined, first: Action | undefined): string {
  if (goto !== undefined) return `open ${goto}`;
  return first === undefined ? "look at the page" : describeAction(first);
}

function readAddress(goto: string, resource: BrowserResource, { path, problems }: StepReading): string {
  const base = resource.file["base-url"];
  const url = joinAddress(goto, base);
  const problem = hasReference(url) ? undefined : problemOfUrl(url, insteadOfPassword);
  if (problem !== undefined && (base === undefined || isAbsolute(goto))) {
    problems.add(
      [...path, "goto"],
      isAbsolute(goto)
        ? problem
        : `\`${nameOf(resource)}\` has no \`base-url\`, so this must be a whole address, beginning with http:// or https://`,
    );
  }
  return url;
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
    url: url === undefined ? undefined : readUrlExpectation(url, [...at, "url"], reading),
    title: title === undefined ? undefined : readExpected(title, [...at, "title"], reading),
    text: text === undefined ? undefined : readExpected(text, [...at, "text"], reading),
  };
}

/** A path of two parts looks like a regular expression with flags that there aren't. */
function readUrlExpectation(
  value: string | number | boolean,
  path: Path,
  reading: StepReading,
): TextExpectation | undefined {
  const text = writtenText(value, path, reading.source);
  const read = readTextExpectation(text);
  if (read.kind === "valid") return readExpected(value, path, reading);
  const instead = quoted(text.replace(/^\//, ""));
  reading.problems.add(path, `${read.problem}; to find a path, leave out its first slash: \`${instead}\``);
  return undefined;
}

/** The lists of a browser step. */
interface StepLists {
  readonly actions: readonly Action[];
  readonly elements: readonly SeenElements[];
}

/** Reads the lists of a step as far as they are right, also of a step that is wrong elsewhere. */
function readLists(step: unknown, reading: StepReading): StepLists {
  const { path } = reading;
  const expect = part(step, "expect");
  return {
    actions: listOf(part(step, "actions")).flatMap(
      (entry, index) => readAction(entry, [...path, "actions", index], reading) ?? [],
    ),
    elements: listOf(part(expect, "elements")).flatMap(
      (entry, index) =>
        readSeenElements(entry, "an element", [...path, "expect", "elements", index], reading) ?? [],
    ),
  };
}

function part(value: unknown, name: string): unknown {
  return isMap(value) ? value[name] : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
