import * as z from "zod/mini";
import { describeExpectation } from "../file/expectation.ts";
import {
  addressSchema,
  type DeepReadonly,
  plannedStep,
  statusRangeSchema,
  textExpectationSchema,
  textExpectationsSchema,
} from "../file/values.ts";

/** The roles of WAI-ARIA 1.2 that elements of a page have. */
export const roles = [
  "alert",
  "alertdialog",
  "application",
  "article",
  "banner",
  "blockquote",
  "button",
  "caption",
  "cell",
  "checkbox",
  "code",
  "columnheader",
  "combobox",
  "complementary",
  "contentinfo",
  "definition",
  "dialog",
  "document",
  "emphasis",
  "feed",
  "figure",
  "form",
  "grid",
  "gridcell",
  "group",
  "heading",
  "img",
  "link",
  "list",
  "listbox",
  "listitem",
  "log",
  "main",
  "marquee",
  "math",
  "menu",
  "menubar",
  "menuitem",
  "menuitemcheckbox",
  "menuitemradio",
  "meter",
  "navigation",
  "note",
  "option",
  "paragraph",
  "progressbar",
  "radio",
  "radiogroup",
  "region",
  "row",
  "rowgroup",
  "rowheader",
  "scrollbar",
  "search",
  "searchbox",
  "separator",
  "slider",
  "spinbutton",
  "status",
  "strong",
  "switch",
  "tab",
  "table",
  "tablist",
  "tabpanel",
  "term",
  "textbox",
  "time",
  "timer",
  "toolbar",
  "tooltip",
  "tree",
  "treegrid",
  "treeitem",
] as const;

const text = z.optional(textExpectationSchema);

/** A frame of a page, at any depth. All that is said of it fits. */
const frameSchema = z.object({
  title: text,
  name: text,
  testId: z.optional(z.string()),
  css: z.optional(z.string()),
});

export type FrameTarget = DeepReadonly<z.infer<typeof frameSchema>>;

/** Without it, the element is in the page itself. */
const inFrame = { frame: z.optional(frameSchema) };

/** How an element of a page is found. `text` beside another way narrows it to elements that contain the text. */
const targetSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("role"), role: z.enum(roles), name: text, text, ...inFrame }),
  z.object({ kind: z.literal("label"), label: textExpectationSchema, ...inFrame }),
  z.object({ kind: z.literal("placeholder"), placeholder: textExpectationSchema, ...inFrame }),
  z.object({ kind: z.literal("test-id"), testId: z.string(), text, ...inFrame }),
  z.object({ kind: z.literal("css"), selector: z.string(), text, ...inFrame }),
  /** The innermost element that contains it. */
  z.object({ kind: z.literal("text"), text: textExpectationSchema, ...inFrame }),
]);

export type ElementTarget = DeepReadonly<z.infer<typeof targetSchema>>;

/**
 * The source of the function that a script of the file is, of an object with the values of its variables.
 * @returns why it is no JavaScript, where it isn't.
 */
export function functionOf(
  script: string,
  variables: readonly string[],
):
  | { readonly kind: "valid"; readonly source: string }
  | { readonly kind: "invalid"; readonly problem: string } {
  const head = `async ({ ${variables.join(", ")} }) =>`;
  let problem = "";
  for (const body of [`(${script.replace(/[\s;]+$/, "")}\n)`, `{ ${script}\n}`]) {
    const source = `(${head} ${body})`;
    try {
      // Compiled, and never run here.
      new Function(`return ${source}`);
      return { kind: "valid", source };
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
  }
  // The bracket may be one behind the script.
  const isBracket = /^Unexpected token '[})]'$/.test(problem);
  return { kind: "invalid", problem: isBracket ? "it ends too early, or has a bracket too many" : problem };
}

/** The element, for messages: "the button `Go`". */
export function describeTarget(target: ElementTarget): string {
  return `${describeElement(target)}${target.frame === undefined ? "" : ` in ${describeFrame(target.frame)}`}`;
}

/** The frame, for messages: "the frame with the title `Payment`". */
function describeFrame({ title, name, testId, css }: FrameTarget): string {
  return `the frame with ${inWords([
    title && `the title ${describeExpectation(title)}`,
    name && `the name ${describeExpectation(name)}`,
    testId && `the test id \`${testId}\``,
    css && `the selector \`${css}\``,
  ])}`;
}

function inWords(ways: readonly (string | undefined)[]): string {
  return ways.filter((way) => way !== undefined).join(" and ");
}

function describeElement(target: ElementTarget): string {
  switch (target.kind) {
    case "role": {
      const name = target.name === undefined ? "" : ` ${describeExpectation(target.name)}`;
      return `the ${target.role}${name}${holding(target.text)}`;
    }
    case "label":
      return `the field labelled ${describeExpectation(target.label)}`;
    case "placeholder":
      return `the field with the placeholder ${describeExpectation(target.placeholder)}`;
    case "test-id":
      return `the element with the test id \`${target.testId}\`${holding(target.text)}`;
    case "css":
      return `the element \`${target.selector}\`${holding(target.text)}`;
    case "text":
      return `the text ${describeExpectation(target.text)}`;
  }
}

function holding(text: z.infer<typeof textExpectationSchema> | undefined): string {
  return text === undefined ? "" : ` that holds ${describeExpectation(text)}`;
}

/** Elements that have to be visible: `count` of them, or at least one. */
const seenElementsSchema = z.object({ target: targetSchema, count: z.optional(z.int()) });

/** JavaScript, an expression or statements, with the values of its variables. */
const scriptSchema = z.object({ script: z.string(), variables: z.record(z.string(), z.unknown()) });

/** The answer to a dialog that comes later in the step; with a text for a prompt. */
const dialogAnswerSchema = z.object({ answer: z.enum(["accept", "dismiss"]), text: z.optional(z.string()) });

/** A tab that fits all that is said of it. */
const tabSchema = z.object({ title: text, url: text });

const actionSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("click"), target: targetSchema }),
  z.object({ kind: z.literal("fill"), target: targetSchema, with: z.string() }),
  /** Without a target, the key goes to whatever has the focus. */
  z.object({ kind: z.literal("press"), key: z.string(), target: z.optional(targetSchema) }),
  z.object({ kind: z.literal("select"), target: targetSchema, option: z.string() }),
  z.object({ kind: z.literal("check"), target: targetSchema }),
  z.object({ kind: z.literal("uncheck"), target: targetSchema }),
  z.object({ kind: z.literal("wait-for"), ...seenElementsSchema.shape }),
  z.object({ kind: z.literal("evaluate"), ...scriptSchema.shape }),
  /** Paths relative to the project's folder. */
  z.object({ kind: z.literal("upload"), target: targetSchema, files: z.array(z.string()) }),
  /** Clicks what causes the download, which is kept under this name, by default its own. */
  z.object({ kind: z.literal("download"), target: targetSchema, as: z.optional(z.string()) }),
  z.object({ kind: z.literal("dialog"), ...dialogAnswerSchema.shape }),
  z.object({ kind: z.literal("tab"), ...tabSchema.shape }),
]);

export type SeenElements = DeepReadonly<z.infer<typeof seenElementsSchema>>;
export type Script = DeepReadonly<z.infer<typeof scriptSchema>>;
export type DialogAnswer = DeepReadonly<z.infer<typeof dialogAnswerSchema>>;
export type TabTarget = DeepReadonly<z.infer<typeof tabSchema>>;
export type Action = DeepReadonly<z.infer<typeof actionSchema>>;

/** The action, for logs: "click the button `Go`". The text that a field is filled with is left out. */
export function describeAction(action: Action): string {
  switch (action.kind) {
    case "click":
    case "fill":
    case "check":
    case "uncheck":
      return `${action.kind} ${describeTarget(action.target)}`;
    case "press":
      return action.target === undefined
        ? `press ${action.key}`
        : `press ${action.key} in ${describeTarget(action.target)}`;
    case "select":
      return `select \`${action.option}\` in ${describeTarget(action.target)}`;
    case "wait-for":
      return `wait for ${describeSeen(action)}`;
    case "evaluate":
      return "evaluate a script";
    case "upload":
      return `upload ${action.files.map((file) => `\`${file}\``).join(", ")} to ${describeTarget(action.target)}`;
    case "download":
      return `download by ${describeTarget(action.target)}`;
    case "dialog":
      return `${action.answer} the next dialog`;
    case "tab": {
      const { title, url } = action;
      return `go to the tab with ${inWords([
        title && `the title ${describeExpectation(title)}`,
        url && `the address ${describeExpectation(url)}`,
      ])}`;
    }
  }
}

export function describeSeen({ target, count }: SeenElements): string {
  const what = describeTarget(target);
  if (count === undefined) return what;
  return count === 0 ? `${what} to be gone` : `${what}, ${count} times`;
}

/** A step that uses a page, resolved against its resource and ready to run. */
export const browserStepSchema = z.object({
  type: z.literal("browser"),
  ...plannedStep,
  browser: z.object({
    /** A path relative to the project's folder, or a program on the PATH. By default a browser of this machine. */
    executable: z.optional(z.string()),
    /** A device that it stands for, by Playwright's name of it. */
    device: z.optional(z.string()),
    /** In CSS pixels; by default the device's. */
    viewport: z.optional(z.object({ width: z.int(), height: z.int() })),
    /** A file of the project with the cookies and local storage that it begins with. */
    storage: z.optional(z.string()),
    /** Whether a trace of a step that fails is kept. */
    isTraced: z.optional(z.literal(true)),
  }),
  /** The resource's base URL with the step's path. Without it the step continues on the current page. */
  goto: z.optional(addressSchema),
  actions: z.array(actionSchema),
  /** For the whole step, once the browser has started. */
  timeoutMilliseconds: z.number(),
  expect: z.object({
    status: z.optional(statusRangeSchema),
    url: z.optional(textExpectationSchema),
    title: z.optional(textExpectationSchema),
    text: z.optional(textExpectationsSchema),
    elements: z.array(seenElementsSchema),
  }),
  /** What the step gives to expressions by these names: an element's text or value, or a script's value. */
  read: z.optional(
    z.array(
      z.object({ name: z.string(), target: z.optional(targetSchema), evaluate: z.optional(scriptSchema) }),
    ),
  ),
  /** The name of the screenshot that is saved when the step succeeds. */
  screenshot: z.optional(z.string()),
  /** The file of the project into which cookies and local storage are saved when the step succeeds. */
  storage: z.optional(z.string()),
});

export type BrowserStep = DeepReadonly<z.infer<typeof browserStepSchema>>;
