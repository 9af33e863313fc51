// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets.

import { checkShape, isMap } from "../file/checkShape.ts";
import { readStatus } from "../file/expectation.ts";
import { expectedText, type FieldText, type FieldTexts, inside, timeoutText } from "../file/fieldTexts.ts";
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
import {
  keyNames,
  readAction,
  readNamedValue,
  readSeenElements,
  readUrlExpectation,
} from "./browserActions.ts";
import {
  type BrowserResourceFile,
  type BrowserStepFile,
  browserResourceSchema,
  browserStepFileSchema,
  browserStepOutlineSchema,
  dialogAnswers,
} from "./browserFile.ts";
import { type Action, type BrowserStep, describeAction } from "./browserStep.ts";
import type { ResourceType } from "./resourceType.ts";

const size: Omit<FieldText, "meaning"> = { bounds: "100 to 4096 pixels" };

const resourceTexts: FieldTexts = {
  executable: {
    meaning: "The browser's program: a path, against the project's folder, or a program on the PATH.",
    byDefault: "this machine's own Chrome, Chromium or Edge",
  },
  "base-url": {
    meaning: "The address that is put before each step's path.",
    byDefault: "none: then each `goto` is a whole address",
    bounds: "begins with `http://` or `https://`",
    values: ["http://127.0.0.1:8080"],
  },
  device: {
    meaning:
      "The device that the browser stands for, by Playwright's name of it: its page's size, touch, and what it says it is.",
    byDefault: "none: a desktop browser",
    values: ["iPhone 15", "Pixel 8", "iPad Mini"],
  },
  viewport: { meaning: "The page's size.", byDefault: "that of the `device`, else 1280 by 720 pixels" },
  "viewport.width": { meaning: "The page's width.", ...size, values: ["1280", "390"] },
  "viewport.height": { meaning: "The page's height.", ...size, values: ["720", "844"] },
  storage: {
    meaning:
      "A file of the project with cookies and local storage, which the browser begins with; a step's `storage` saves it.",
    byDefault: "none: the browser begins empty",
    values: ["login.json"],
  },
  trace: {
    meaning:
      "Keeps a trace of a step that fails, for Playwright's trace viewer: what was done, the page before and after it, and what went over the network. Texts in it are masked, pictures aren't.",
    byDefault: "none",
  },
  timeout: timeoutText("How long each step may take as a whole, once the browser has started.", "`10s`"),
};

const targetTexts: FieldTexts = {
  role: { meaning: "The element has this WAI-ARIA role, such as `button`, `link`, `textbox` or `heading`." },
  name: { meaning: `The name of the element, beside its \`role\`: ${expectedText}.`, byDefault: "any" },
  label: { meaning: `The field with this label: ${expectedText}.` },
  placeholder: { meaning: `The field with this placeholder: ${expectedText}.` },
  "test-id": { meaning: "The element with this `data-testid`." },
  css: { meaning: "The element that this CSS selector selects." },
  text: {
    meaning: `The innermost element that holds this text; beside \`role\`, \`test-id\` or \`css\`, the one of those that does: ${expectedText}.`,
  },
  frame: {
    meaning: "The `iframe` that the element is in, at any depth.",
    byDefault: "none: it is in the page itself",
  },
  ...inside("frame", {
    title: { meaning: `The frame's \`title\`: ${expectedText}.` },
    name: { meaning: `The frame's \`name\`: ${expectedText}.` },
    "test-id": { meaning: "The frame's `data-testid`." },
    css: { meaning: "A CSS selector that selects the frame's element." },
  }),
};

const count: FieldText = {
  meaning: "How many such elements can be seen; 0 is none.",
  byDefault: "at least one",
  bounds: "a whole number, 0 or more",
  values: ["0", "1"],
};

/** A script in the page. */
const scripts: FieldTexts = {
  evaluate: {
    meaning:
      "JavaScript that is evaluated in the page: an expression, or statements that `return` a value. `await` can stand in it.",
    values: ["document.title"],
  },
  ...inside("evaluate", {
    script: { meaning: "The script. Of expressions, only the environment can stand in it." },
    with: { meaning: "The values of variables of the script, by their names." },
  }),
};

const actions: FieldTexts = {
  click: { meaning: "Clicks an element." },
  ...inside("click", targetTexts),
  fill: { meaning: "Replaces what is in a field. The text is never shown in the log." },
  ...inside("fill", { ...targetTexts, with: { meaning: "The text that the field is filled with." } }),
  press: {
    meaning: "Presses a key, in an element or where the focus is. Others can be held: `Control+Shift+k`.",
    values: keyNames,
  },
  ...inside("press", {
    ...targetTexts,
    key: { meaning: "The key: one character, or a name such as `Enter`.", values: keyNames },
  }),
  select: { meaning: "Selects an option of a list." },
  ...inside("select", {
    ...targetTexts,
    option: { meaning: "The option that is shown so, or has this value." },
  }),
  check: { meaning: "Checks a checkbox, radio button or switch." },
  ...inside("check", targetTexts),
  uncheck: { meaning: "Unchecks a checkbox or switch." },
  ...inside("uncheck", targetTexts),
  "wait-for": {
    meaning: "Waits until an element can be seen, or as many as `count` says; with 0, until it is gone.",
  },
  ...inside("wait-for", { ...targetTexts, count }),
  ...scripts,
  upload: { meaning: "Puts files of the project into a field for files, also one that can't be seen." },
  ...inside("upload", {
    ...targetTexts,
    file: { meaning: "The file, by its path from the project's folder; or a list of files." },
  }),
  download: {
    meaning: "Clicks an element that causes a download, which is kept with the run.",
  },
  ...inside("download", {
    ...targetTexts,
    as: {
      meaning: "The name under which it is kept.",
      byDefault: "the name that it has",
      bounds: "a file's name, of letters, digits, spaces, `.`, `_` and `-`",
    },
  }),
  dialog: {
    meaning:
      "How the page's next dialog (`alert`, `confirm` or `prompt`) is answered; stands before the action that opens it. The step waits for the dialog. Any other one is dismissed.",
    values: dialogAnswers,
  },
  "dialog.text": { meaning: "The text that a `prompt` is accepted with. It is never shown in the log." },
  tab: {
    meaning:
      "Goes on in the tab that fits, of several in the one opened last, until it closes or another is chosen.",
  },
  "tab.title": { meaning: `What the title of the tab's page holds: ${expectedText}.` },
  "tab.url": {
    meaning: `What the address of the tab's page holds: ${expectedText}. Leave out the first slash of a path.`,
  },
};

const stepTexts: FieldTexts = {
  goto: {
    meaning:
      "Opens this address: a path, put behind the resource's `base-url`, or a whole one. The first step of a resource has it; one without goes on where the last one left.",
    values: ["/"],
  },
  actions: { meaning: "What is done on the page, one after the other.", byDefault: "nothing" },
  ...inside("actions", actions),
  timeout: timeoutText("How long this step may take as a whole.", "the resource's, else `10s`"),
  expect: {
    meaning:
      "What the page has to be like; it is looked at again and again until all holds at once, or the `timeout` is over.",
    byDefault: "a `goto` has a status below 400",
  },
  "expect.status": {
    meaning: "The status of the `goto`, after redirects.",
    byDefault: "below 400",
    bounds: "a number from 100 to 599, or `1xx` to `5xx`",
    values: ["2xx", "200", "404"],
  },
  "expect.url": {
    meaning: `What the page's address holds: ${expectedText}. Leave out the first slash of a path.`,
    byDefault: "none",
  },
  "expect.title": { meaning: `What the page's title holds: ${expectedText}.`, byDefault: "none" },
  "expect.text": { meaning: `What can be read on the page: ${expectedText}.`, byDefault: "none" },
  "expect.elements": {
    meaning: "Elements that can be seen: at least one of each, or as many as its `count` says.",
    byDefault: "none",
  },
  ...inside("expect.elements", { ...targetTexts, count }),
  read: {
    meaning:
      "What expressions can read of the step by these names, as `steps.<id>.<name>`, once all that is expected holds: the text of an element, the value of a field, whether a box is checked, or the value of a script.",
    byDefault: "none",
  },
  ...inside("read", { ...targetTexts, ...scripts }),
  screenshot: {
    meaning: "The name under which a picture of what can be seen is kept when the step succeeds.",
    byDefault: "none",
    bounds: "a file's name that ends in `.png`, of letters, digits, spaces, `.`, `_` and `-`",
    values: ["page.png"],
  },
  storage: {
    meaning:
      "A file of the project into which the browser's cookies and local storage are saved when the step succeeds, so that a resource's `storage` begins with them. Whoever has it is logged in: keep it out of git.",
    byDefault: "none",
    values: ["login.json"],
  },
};

/** The fields of which a step has at least one. */
const doing = ["goto", "actions", "expect", "read", "screenshot", "storage"] as const;

export const browserType: ResourceType<BrowserStep> = {
  type: "browser",
  meaning: "Uses a page as a person would, in a real browser, and looks at what is on it.",
  actions: doing.join(", "),
  file: { resource: browserResourceSchema, step: browserStepFileSchema },
  texts: { resource: resourceTexts, step: stepTexts },
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
