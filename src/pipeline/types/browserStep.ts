import { describeExpectation } from "../file/expectation.ts";
import type { Address, PlannedStep, StatusRange, TextExpectation } from "../file/values.ts";
import type { Auth } from "./httpStep.ts";

/** The roles of WAI-ARIA 1.2 that elements of a page have. */
export const roles: readonly string[] = `
alert alertdialog application article banner blockquote button caption cell checkbox code columnheader
combobox complementary contentinfo definition dialog document emphasis feed figure form grid gridcell group
heading img link list listbox listitem log main marquee math menu menubar menuitem menuitemcheckbox
menuitemradio meter navigation note option paragraph progressbar radio radiogroup region row rowgroup
rowheader scrollbar search searchbox separator slider spinbutton status strong switch tab table tablist
tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem
`
  .trim()
  .split(/\s+/);

type Text = TextExpectation | undefined;

/** A frame of a page, at any depth. All that is given has to fit. */
export interface FrameTarget {
  readonly title?: Text;
  readonly name?: Text;
  readonly testId?: string | undefined;
  readonly css?: string | undefined;
}

/** How an element of a page is found. `text` beside another way narrows it to elements that contain the text. */
export type ElementTarget = {
  /** Without it, the element is in the page itself. */
  readonly frame?: FrameTarget | undefined;
} & (
  | {
      readonly kind: "role";
      /** One of `roles`. */
      readonly role: string;
      readonly name?: Text;
      readonly text?: Text;
    }
  | { readonly kind: "label"; readonly label: TextExpectation }
  | { readonly kind: "placeholder"; readonly placeholder: TextExpectation }
  | { readonly kind: "test-id"; readonly testId: string; readonly text?: Text }
  | { readonly kind: "css"; readonly selector: string; readonly text?: Text }
  /** The innermost element that contains it. */
  | { readonly kind: "text"; readonly text: TextExpectation }
);

/**
 * The source of a function that runs a script of the file. It takes an object with the values of the script's variables.
 * @returns why the script is no JavaScript, if it isn't.
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
  // The bracket may be our own, after the script.
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

function holding(text: Text): string {
  return text === undefined ? "" : ` that holds ${describeExpectation(text)}`;
}

/** Elements that have to be visible: `count` of them, or at least one. */
export interface SeenElements {
  readonly target: ElementTarget;
  readonly count?: number | undefined;
}

/** JavaScript, an expression or statements, with the values of its variables. */
export interface Script {
  readonly script: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The answer to a dialog that comes later in the step; with a text for a prompt. */
export interface DialogAnswer {
  readonly answer: "accept" | "dismiss";
  readonly text?: string | undefined;
}

/** A tab. All that is given has to fit. */
export interface TabTarget {
  readonly title?: Text;
  readonly url?: Text;
}

export type Action =
  | { readonly kind: "click" | "check" | "uncheck"; readonly target: ElementTarget }
  | { readonly kind: "fill"; readonly target: ElementTarget; readonly with: string }
  /** Without a target, the key goes to whatever has the focus. */
  | { readonly kind: "press"; readonly key: string; readonly target?: ElementTarget | undefined }
  | { readonly kind: "select"; readonly target: ElementTarget; readonly option: string }
  | ({ readonly kind: "wait-for" } & SeenElements)
  | ({ readonly kind: "evaluate" } & Script)
  /** Paths relative to the project's folder. */
  | { readonly kind: "upload"; readonly target: ElementTarget; readonly files: readonly string[] }
  /** Clicks what causes the download, which is kept under this name, by default its own. */
  | { readonly kind: "download"; readonly target: ElementTarget; readonly as?: string | undefined }
  | ({ readonly kind: "dialog" } & DialogAnswer)
  | ({ readonly kind: "tab" } & TabTarget);

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
export interface BrowserStep extends PlannedStep {
  readonly type: "browser";
  readonly browser: {
    /** A path relative to the project's folder, or a program on the PATH. By default a browser of this machine. */
    readonly executable?: string | undefined;
    /** For pages that ask for a user and password by HTTP Basic. If there is a `base`, only its origin gets them. */
    readonly auth?: (NonNullable<Auth> & { readonly base?: string | undefined }) | undefined;
    /** A device that it stands for, by Playwright's name of it. */
    readonly device?: string | undefined;
    /** In CSS pixels; by default the device's. */
    readonly viewport?: { readonly width: number; readonly height: number } | undefined;
    /** A file of the project with the cookies and local storage that it begins with. */
    readonly storage?: string | undefined;
    /** Whether a trace of a step that fails is kept. */
    readonly isTraced?: true | undefined;
  };
  /** The resource's base URL with the step's path. Without it the step continues on the current page. */
  readonly goto?: Address | undefined;
  readonly actions: readonly Action[];
  /** For the whole step, once the browser has started. */
  readonly timeoutMilliseconds: number;
  readonly expect: {
    readonly status?: StatusRange | undefined;
    readonly url?: Text;
    readonly title?: Text;
    readonly text?: readonly TextExpectation[] | undefined;
    readonly elements: readonly SeenElements[];
  };
  /** What the step gives to expressions by these names: an element's text or value, or a script's value. */
  readonly read?:
    | readonly {
        readonly name: string;
        readonly target?: ElementTarget | undefined;
        readonly evaluate?: Script | undefined;
      }[]
    | undefined;
  /** The name of the screenshot that is saved when the step succeeds. */
  readonly screenshot?: string | undefined;
  /** The file of the project into which cookies and local storage are saved when the step succeeds. */
  readonly storage?: string | undefined;
}
