import { keyNames } from "../browser/problemOfKey.ts";
import { type FieldText, type FieldTexts, inside } from "./fieldText.ts";
import { everyStepTexts, expectedText, timeoutBounds, timeoutValues, typeText } from "./pipelineTexts.ts";

const size: Omit<FieldText, "meaning"> = { bounds: "100 to 4096 pixels" };

/** A resource of type browser. */
export const browserResourceTexts: FieldTexts = {
  type: typeText,
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
  viewport: { meaning: "The page's size.", byDefault: "1280 by 720 pixels" },
  "viewport.width": { meaning: "The page's width.", ...size, values: ["1280", "390"] },
  "viewport.height": { meaning: "The page's height.", ...size, values: ["720", "844"] },
  timeout: {
    meaning: "How long each step may take as a whole, once the browser has started.",
    byDefault: "`10s`",
    bounds: timeoutBounds,
    values: timeoutValues,
  },
};

/** An element of the page, said in one way. */
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
};

const count: FieldText = {
  meaning: "How many such elements can be seen; 0 is none.",
  byDefault: "at least one",
  bounds: "a whole number, 0 or more",
  values: ["0", "1"],
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
};

/** A step that uses such a resource. */
export const browserStepTexts: FieldTexts = {
  ...everyStepTexts,
  goto: {
    meaning:
      "Opens this address: a path, put behind the resource's `base-url`, or a whole one. The first step of a resource has it; one without goes on where the last one left.",
    values: ["/"],
  },
  actions: { meaning: "What is done on the page, one after the other.", byDefault: "nothing" },
  ...inside("actions", actions),
  timeout: {
    meaning: "How long this step may take as a whole.",
    byDefault: "the resource's, else `10s`",
    bounds: timeoutBounds,
    values: timeoutValues,
  },
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
  screenshot: {
    meaning: "The name under which a picture of what can be seen is kept when the step succeeds.",
    byDefault: "none",
    bounds: "a file's name that ends in `.png`, of letters, digits, spaces, `.`, `_` and `-`",
    values: ["page.png"],
  },
};
