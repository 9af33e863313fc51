import type { Locator, Page } from "playwright-core";
import type { TextExpectation } from "../../../pipeline/schema/values.ts";
import type { ElementTarget } from "../../../pipeline/types/browserStep.ts";
import type { Mask } from "../mask.ts";
import type { StepDeadline } from "./deadline.ts";

/** The elements that a target may mean. Only those that can be seen count. */
interface Located {
  readonly all: Locator;
  /** Those whose whole name, label or text it is: of several elements the one of these is meant. */
  readonly exact: Locator | undefined;
  /** The hidden ones as well. */
  readonly hiddenToo: Locator;
}

export function locate(page: Page, target: ElementTarget): Located {
  const hiddenToo = partial(page, target);
  return {
    all: hiddenToo.filter({ visible: true }),
    exact: exact(page, target)?.filter({ visible: true }),
    hiddenToo,
  };
}

function partial(page: Page, target: ElementTarget): Locator {
  switch (target.kind) {
    case "role":
      return holding(page.getByRole(target.role, named(target.name)), target.text);
    case "label":
      return page.getByLabel(textPattern(target.label));
    case "placeholder":
      return page.getByPlaceholder(textPattern(target.placeholder));
    case "test-id":
      return holding(page.getByTestId(target.testId), target.text);
    case "css":
      return holding(page.locator(`css=${target.selector}`), target.text);
    case "text":
      return page.getByText(textPattern(target.text));
    default:
      return target satisfies never;
  }
}

function exact(page: Page, target: ElementTarget): Locator | undefined {
  const whole = wholeOf(target);
  if (whole === undefined) return undefined;
  switch (target.kind) {
    case "role":
      return holding(page.getByRole(target.role, { name: whole, exact: true }), target.text);
    case "label":
      return page.getByLabel(whole, { exact: true });
    case "placeholder":
      return page.getByPlaceholder(whole, { exact: true });
    case "text":
      return page.getByText(whole, { exact: true });
    case "test-id":
    case "css":
      return undefined;
    default:
      return target satisfies never;
  }
}

function wholeOf(target: ElementTarget): string | undefined {
  const expected = expectedOf(target);
  return expected?.kind === "contains" ? expected.text : undefined;
}

function expectedOf(target: ElementTarget): TextExpectation | undefined {
  switch (target.kind) {
    case "role":
      return target.name;
    case "label":
      return target.label;
    case "placeholder":
      return target.placeholder;
    case "text":
      return target.text;
    case "test-id":
    case "css":
      return undefined;
    default:
      return target satisfies never;
  }
}

function named(name: TextExpectation | undefined): { name?: RegExp } {
  return name === undefined ? {} : { name: textPattern(name) };
}

function holding(locator: Locator, text: TextExpectation | undefined): Locator {
  return text === undefined ? locator : locator.filter({ hasText: textPattern(text) });
}

/**
 * The expectation as the pattern that an element's text is searched with. The page's source may hold any white space
 * where a person sees a space, and around a whole line.
 */
function textPattern(expected: TextExpectation): RegExp {
  switch (expected.kind) {
    case "contains":
      return new RegExp(expected.text.trim().split(/\s+/).map(literally).join("\\s+"));
    case "matches": {
      const source = expected.source.replace(/^\^/, "^ ?").replace(/(?<!\\)\$$/, " ?$");
      return new RegExp(withAnySpace(source), `${expected.flags}m`);
    }
    default:
      return expected satisfies never;
  }
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** A regular expression whose spaces stand for any white space. */
function withAnySpace(source: string): string {
  let isInClass = false;
  return source.replace(/\\.|[[\] ]/gs, (part) => {
    if (part === "[") isInClass = true;
    if (part === "]") isInClass = false;
    if (part !== " ") return part;
    return isInClass ? "\\s" : "(?:\\s+)";
  });
}

const longestExcerpt = 500;

/** What a person can read on the page, line by line, with single spaces. */
export async function textOf(page: Page, timeout: number): Promise<string> {
  // biome-ignore lint/performance/useDomNodeTextContent: what can't be seen doesn't count.
  const text = await page.locator("body").innerText({ timeout });
  return text
    .split("\n")
    .map((line) => line.replace(/\s+/g, " ").trim())
    .join("\n");
}

/** The beginning of it for a message, masked. Empty when there is none, or the page doesn't say it any more. */
export async function excerptOf(page: Page, deadline: StepDeadline, mask: Mask): Promise<string> {
  const short = deadline.forDiagnosis();
  try {
    return shorten(mask.hide(await short.within(textOf(page, short.left))), longestExcerpt);
  } catch {
    return "";
  }
}

/** A text on one line, cut short. What may hold a secret is masked before: a cut could leave half of it. */
export function shorten(masked: string, most: number): string {
  const line = masked.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}
