// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets.

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
import { quoted } from "../mistakes/problem.ts";
import { checkAuth, insteadOfPassword, readAuth } from "./basicAuth.ts";
import { readAction, readNamedValue, readSeenElements, readUrlExpectation } from "./browserActions.ts";
import {
  type BrowserResourceFile,
  type BrowserStepFile,
  browserResourceSchema,
  browserStepFileSchema,
} from "./browserFile.ts";
import { type Action, type BrowserStep, describeAction } from "./browserStep.ts";
import { type ReadResource, resourceType } from "./resourceType.ts";

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
