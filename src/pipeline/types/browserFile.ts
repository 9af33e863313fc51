import * as z from "zod/mini";
import { expectedText, field, needed, noneByDefault, typeText } from "../file/fieldTexts.ts";
import {
  everyStep,
  expectedWords,
  idPattern,
  nonEmpty,
  statusFileSchema,
  that,
  timeoutField,
  words,
} from "../file/values.ts";
import { quoted, suggestion } from "../mistakes/problem.ts";
import { authFileSchema } from "./basicAuth.ts";
import { roles } from "./browserStep.ts";
import { deviceNames } from "./deviceNames.ts";

/** The browser resource, its steps and their elements as a pipeline file writes them. */

const emptyText = "this text is empty";
const filledWords = z.union([z.string().check(z.minLength(1, emptyText)), z.number(), z.boolean()], {
  error: ({ input }) => (input === "" ? emptyText : "expected text"),
});

const role = z.enum(roles, {
  error: ({ input }) => {
    if (typeof input !== "string") return "expected a role such as button, link, textbox or heading";
    const near = suggestion(input, roles);
    return `there is no role \`${quoted(input)}\`${near || "; such as there are: button, link, textbox, heading"}`;
  },
});

const frame = z.strictObject({
  title: field(filledWords, { meaning: `The frame's \`title\`: ${expectedText}.` }),
  name: field(filledWords, { meaning: `The frame's \`name\`: ${expectedText}.` }),
  "test-id": field(filledWords, { meaning: "The frame's `data-testid`." }),
  css: field(nonEmpty, { meaning: "A CSS selector that selects the frame's element." }),
});

const target = {
  role: field(role, {
    meaning: "The element has this WAI-ARIA role, such as `button`, `link`, `textbox` or `heading`.",
  }),
  name: field(filledWords, {
    meaning: `The name of the element, beside its \`role\`: ${expectedText}.`,
    byDefault: "any",
  }),
  label: field(filledWords, { meaning: `The field with this label: ${expectedText}.` }),
  placeholder: field(filledWords, { meaning: `The field with this placeholder: ${expectedText}.` }),
  "test-id": field(filledWords, { meaning: "The element with this `data-testid`." }),
  css: field(nonEmpty, { meaning: "The element that this CSS selector selects." }),
  text: field(filledWords, {
    meaning: `The innermost element that holds this text; beside \`role\`, \`test-id\` or \`css\`, the one of those that does: ${expectedText}.`,
  }),
  frame: field(frame, {
    meaning: "The `iframe` that the element is in, at any depth.",
    byDefault: "none: it is in the page itself",
  }),
};

const targetFileSchema = z.strictObject(target);

export type TargetFile = z.infer<typeof targetFileSchema>;

const fileName = z
  .string()
  .check(
    z.regex(
      /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/,
      "expected a file's name, of letters, digits, spaces, `.`, `_` and `-`",
    ),
  );

const device = z.enum(deviceNames, {
  error: ({ input }) => {
    if (typeof input !== "string") return "expected a device's name, such as iPhone 15";
    const near = suggestion(input, deviceNames);
    return `there is no device \`${quoted(input)}\`${near || "; such as there are: iPhone 15, Pixel 8, iPad Mini landscape"}`;
  },
});

const aSize = "expected a number of pixels from 100 to 4096";
const pixels = z.int(aSize).check(z.minimum(100, aSize), z.maximum(4096, aSize));

const size = { bounds: "100 to 4096 pixels" };

export const browserResourceSchema = z.strictObject({
  type: needed(z.literal("browser"), typeText),
  executable: field(nonEmpty, {
    meaning: "The browser's program: a path, against the project's folder, or a program on the PATH.",
    byDefault: "this machine's own Chrome, Chromium or Edge",
  }),
  "base-url": field(nonEmpty, {
    meaning: "The address that is put before each step's path.",
    byDefault: "none: then each `goto` is a whole address",
    bounds: "begins with `http://` or `https://`",
    values: ["http://127.0.0.1:8080"],
  }),
  auth: noneByDefault(
    authFileSchema,
    "Who asks where a page wants a user and password by HTTP Basic; sent to the origin of `base-url` alone, where there is one.",
  ),
  device: field(device, {
    meaning:
      "The device that the browser stands for, by Playwright's name of it: its page's size, touch, and what it says it is.",
    byDefault: "none: a desktop browser",
    values: ["iPhone 15", "Pixel 8", "iPad Mini"],
  }),
  viewport: field(
    z.strictObject({
      width: needed(pixels, { meaning: "The page's width.", ...size, values: ["1280", "390"] }),
      height: needed(pixels, { meaning: "The page's height.", ...size, values: ["720", "844"] }),
    }),
    { meaning: "The page's size.", byDefault: "that of the `device`, else 1280 by 720 pixels" },
  ),
  storage: field(nonEmpty, {
    meaning:
      "A file of the project with cookies and local storage, which the browser begins with; a step's `storage` saves it.",
    byDefault: "none: the browser begins empty",
    values: ["login.json"],
  }),
  trace: noneByDefault(
    z.literal("on-failure", "expected `on-failure`; without it, no trace is kept"),
    "Keeps a trace of a step that fails, for Playwright's trace viewer: what was done, the page before and after it, and what went over the network. Texts in it are masked, pictures aren't.",
  ),
  timeout: timeoutField("How long each step may take as a whole, once the browser has started.", "`10s`"),
});

const seenElementsFileSchema = z.strictObject({
  ...target,
  count: field(z.int().check(z.nonnegative("a count is 0 or more")), {
    meaning: "How many such elements can be seen; 0 is none.",
    byDefault: "at least one",
    bounds: "a whole number, 0 or more",
    values: ["0", "1"],
  }),
});

const evaluateFileSchema = z.strictObject({
  script: needed(nonEmpty, {
    meaning: "The script. Of expressions, only the environment can stand in it.",
  }),
  with: field(
    z.record(
      z.string().check(z.regex(/^[A-Za-z_$][\w$]*$/, "this can't name a variable of a script")),
      z.unknown(),
    ),
    { meaning: "The values of variables of the script, by their names." },
  ),
});

const evaluateText = {
  meaning:
    "JavaScript that is evaluated in the page: an expression, or statements that `return` a value. `await` can stand in it.",
  values: ["document.title"],
};

/** What is read of a page: an element, or the value of a script. */
const readFileSchema = z.strictObject({
  ...target,
  evaluate: field(z.union([nonEmpty, evaluateFileSchema], "expected a script"), evaluateText),
});

const readName = z
  .string()
  .check(
    z.regex(
      idPattern,
      "such a name begins with a letter or `_` and goes on with letters, digits, `_` and `-`",
    ),
  );

export const modifiers: readonly string[] = ["Shift", "Control", "Alt", "Meta", "ControlOrMeta"];

export const keyNames: readonly string[] = [
  ...modifiers,
  ..."Enter Tab Escape Space Backspace Delete Insert Home End PageUp PageDown".split(" "),
  ..."ArrowLeft ArrowUp ArrowRight ArrowDown CapsLock ContextMenu".split(" "),
  ...Array.from({ length: 12 }, (_, index) => `F${index + 1}`),
];

const dialogAnswers = ["accept", "dismiss"] as const;

const aKey = "expected a key such as Enter, or a map such as `{ key: Enter, label: Search }`";
const aScript = "expected a script such as `document.title`, or a map such as `{ script: …, with: { … } }`";
const anAnswer = "expected `accept`, `dismiss`, or a map such as `{ text: Ada }`, which accepts with a text";
/** The actions, of which an entry has exactly one. */
const actions = {
  click: field(targetFileSchema, { meaning: "Clicks an element." }),
  fill: field(
    z.strictObject({
      ...target,
      with: needed(words, { meaning: "The text that the field is filled with." }),
    }),
    { meaning: "Replaces what is in a field. The text is never shown in the log." },
  ),
  press: field(
    z.union(
      [
        nonEmpty,
        z.strictObject({
          ...target,
          key: needed(nonEmpty, {
            meaning: "The key: one character, or a name such as `Enter`.",
            values: keyNames,
          }),
        }),
      ],
      aKey,
    ),
    {
      meaning: "Presses a key, in an element or where the focus is. Others can be held: `Control+Shift+k`.",
      values: keyNames,
    },
  ),
  select: field(
    z.strictObject({
      ...target,
      option: needed(words, { meaning: "The option that is shown so, or has this value." }),
    }),
    { meaning: "Selects an option of a list." },
  ),
  check: field(targetFileSchema, { meaning: "Checks a checkbox, radio button or switch." }),
  uncheck: field(targetFileSchema, { meaning: "Unchecks a checkbox or switch." }),
  "wait-for": field(seenElementsFileSchema, {
    meaning: "Waits until an element can be seen, or as many as `count` says; with 0, until it is gone.",
  }),
  evaluate: field(z.union([nonEmpty, evaluateFileSchema], aScript), evaluateText),
  upload: field(
    z.strictObject({
      ...target,
      file: needed(
        z.union(
          [nonEmpty, z.array(nonEmpty).check(z.minLength(1))],
          "expected a file's path, or a list of them",
        ),
        { meaning: "The file, by its path from the project's folder; or a list of files." },
      ),
    }),
    { meaning: "Puts files of the project into a field for files, also one that can't be seen." },
  ),
  download: field(
    z.strictObject({
      ...target,
      as: field(fileName, {
        meaning: "The name under which it is kept.",
        byDefault: "the name that it has",
        bounds: "a file's name, of letters, digits, spaces, `.`, `_` and `-`",
      }),
    }),
    { meaning: "Clicks an element that causes a download, which is kept with the run." },
  ),
  dialog: field(
    z.union(
      [
        z.enum(dialogAnswers),
        z.strictObject({
          text: needed(words, {
            meaning: "The text that a `prompt` is accepted with. It is never shown in the log.",
          }),
        }),
      ],
      anAnswer,
    ),
    {
      meaning:
        "How the page's next dialog (`alert`, `confirm` or `prompt`) is answered; stands before the action that opens it. The step waits for the dialog. Any other one is dismissed.",
      values: dialogAnswers,
    },
  ),
  tab: field(
    z.strictObject({
      title: field(filledWords, { meaning: `What the title of the tab's page holds: ${expectedText}.` }),
      url: field(filledWords, {
        meaning: `What the address of the tab's page holds: ${expectedText}. Leave out the first slash of a path.`,
      }),
    }),
    {
      meaning:
        "Goes on in the tab that fits, of several in the one opened last, until it closes or another is chosen.",
    },
  ),
};

export const actionNames = Object.keys(actions);

export const anAction = `an action is a map such as \`click: { role: button, name: Go }\`; the actions are ${actionNames.join(", ")}`;

const actionFileSchema = z
  .strictObject(actions, anAction)
  .register(z.globalRegistry, { minProperties: 1, maxProperties: 1 });

export type ActionFile = z.infer<typeof actionFileSchema>;

const screenshot = z
  .string()
  .check(
    z.regex(
      /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,95}\.png$/,
      "expected a file's name that ends in .png, of letters, digits, spaces, `.`, `_` and `-`",
    ),
  );

export const browserStepFileSchema = z.strictObject({
  ...everyStep,
  goto: field(nonEmpty, {
    meaning:
      "Opens this address: a path, put behind the resource's `base-url`, or a whole one. The first step of a resource has it; one without goes on where the last one left.",
    values: ["/"],
  }),
  timeout: timeoutField("How long this step may take as a whole.", "the resource's, else `10s`"),
  screenshot: field(screenshot, {
    meaning: "The name under which a picture of what can be seen is kept when the step succeeds.",
    byDefault: "none",
    bounds: "a file's name that ends in `.png`, of letters, digits, spaces, `.`, `_` and `-`",
    values: ["page.png"],
  }),
  storage: field(nonEmpty, {
    meaning:
      "A file of the project into which the browser's cookies and local storage are saved when the step succeeds, so that a resource's `storage` begins with them. Whoever has it is logged in: keep it out of git.",
    byDefault: "none",
    values: ["login.json"],
  }),
  actions: field(z.array(actionFileSchema).check(z.minLength(1)), {
    meaning: "What is done on the page, one after the other.",
    byDefault: "nothing",
  }),
  expect: field(
    z.strictObject({
      status: field(statusFileSchema(), {
        meaning: "The status of the `goto`, after redirects.",
        byDefault: "below 400",
        bounds: "a number from 100 to 599, or `1xx` to `5xx`",
        values: ["2xx", "200", "404"],
      }),
      url: noneByDefault(
        words,
        `What the page's address holds: ${expectedText}. Leave out the first slash of a path.`,
      ),
      title: noneByDefault(words, `What the page's title holds: ${expectedText}.`),
      text: noneByDefault(expectedWords, `What can be read on the page: ${expectedText}.`),
      that,
      elements: noneByDefault(
        z.array(seenElementsFileSchema).check(z.minLength(1)),
        "Elements that can be seen: at least one of each, or as many as its `count` says.",
      ),
    }),
    {
      meaning:
        "What the page has to be like; it is looked at again and again until all holds at once, or the `timeout` is over.",
      byDefault: "a `goto` has a status below 400",
    },
  ),
  read: noneByDefault(
    z.record(readName, readFileSchema),
    "What expressions can read of the step by these names, as `steps.<id>.<name>`, once all that is expected holds: the text of an element, the value of a field, whether a box is checked, or the value of a script.",
  ),
});

export type SeenElementsFile = z.infer<typeof seenElementsFileSchema>;
export type ReadFile = z.infer<typeof readFileSchema>;
export type ScriptFile = NonNullable<ReadFile["evaluate"]>;
export type BrowserResourceFile = z.infer<typeof browserResourceSchema>;
export type BrowserStepFile = z.infer<typeof browserStepFileSchema>;
