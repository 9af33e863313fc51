import type { ElementHandle, Frame, Locator, Page } from "playwright-core";
import { describeError } from "../../contract/errors.ts";
import type { TextExpectation } from "../../pipeline/file/values.ts";
import type { ElementTarget, FrameTarget } from "../../pipeline/types/browserStep.ts";
import type { Mask } from "../mask/mask.ts";
import { invisible, shorten, withoutInvisible } from "../output/readableText.ts";
import { searchFor } from "../output/textSearch.ts";
import { isNavigating } from "./deadline.ts";
import type { BrowserUse } from "./openBrowser.ts";

/** The visible elements that match a target. */
interface Located {
  readonly all: Locator;
  /** Those whose whole name, label or text matches. A single one of these is preferred to several partial matches. */
  readonly exact: Locator;
  readonly hiddenToo: Locator;
}

export function locate(page: Frame, target: ElementTarget): Located {
  const hiddenToo = find(page, target, false);
  return {
    all: hiddenToo.filter({ visible: true }),
    exact: find(page, target, true).filter({ visible: true }),
    hiddenToo,
  };
}

/** @param exact whether an expected name, label or text has to be the whole. */
function find(page: Frame, target: ElementTarget, exact: boolean): Locator {
  const by = (expected: TextExpectation) =>
    exact && expected.kind === "contains" ? expected.text : textPattern(expected);
  switch (target.kind) {
    case "role": {
      const name = target.name && { name: by(target.name), exact };
      // The file's schema allows only these roles.
      const role = target.role as Parameters<Frame["getByRole"]>[0];
      return holding(page.getByRole(role, name), target.text);
    }
    case "label":
      return page.getByLabel(by(target.label), { exact });
    case "placeholder":
      return page.getByPlaceholder(by(target.placeholder), { exact });
    case "test-id":
      return holding(page.getByTestId(target.testId), target.text);
    case "css":
      return holding(page.locator(`css=${target.selector}`), target.text);
    case "text":
      return page.getByText(by(target.text), { exact });
  }
}

function holding(locator: Locator, text: TextExpectation | undefined): Locator {
  return text === undefined ? locator : locator.filter({ hasText: textPattern(text) });
}

/**
 * The pattern for an element's text. Where a person sees a space, and at either end of a line, the page's source may have any
 * white space; it may have invisible characters anywhere, such as soft hyphens; and a letter may be one character or two.
 */
function textPattern(expected: TextExpectation): RegExp {
  switch (expected.kind) {
    case "contains":
      return new RegExp(withoutInvisible(expected.text).trim().split(/\s+/).map(literally).join("\\s+"));
    case "matches": {
      const source = expected.source.replace(/^\^/, "^ ?").replace(/(?<!\\)\$$/, " ?$");
      return new RegExp(withAnySpace(source), `${expected.flags}m`);
    }
  }
}

function literally(text: string): string {
  return [...text.normalize()]
    .map((sign) => {
      const escaped = sign.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
      const inParts = sign.normalize("NFD");
      return inParts === sign ? escaped : `(?:${escaped}|${inParts})`;
    })
    .join(`${invisible}*`);
}

/** Lets each space of a regular expression match any white space. */
function withAnySpace(source: string): string {
  let isInClass = false;
  return source.replace(/\\.|[[\] ]/gs, (part) => {
    if (part === "[") isInClass = true;
    if (part === "]") isInClass = false;
    if (part !== " ") return part;
    return isInClass ? "\\s" : "(?:\\s+)";
  });
}

/** The frames that an element may be in: the page's own, or all that fit its `frame`, at any depth. */
export async function framesOf(page: Page, { frame }: ElementTarget): Promise<readonly Frame[]> {
  if (frame === undefined) return [page.mainFrame()];
  return (await Promise.all(page.frames().map((parent) => framesIn(parent, frame)))).flat();
}

export async function frameNames(page: Page): Promise<readonly string[]> {
  const elements = await Promise.all(
    page.frames().map((parent) => parent.locator("css=iframe, frame").elementHandles()),
  );
  return Promise.all(
    elements
      .flat()
      .map(
        async (element) =>
          (await element.getAttribute("title")) ?? (await element.getAttribute("name")) ?? "",
      ),
  );
}

async function framesIn(parent: Frame, wanted: FrameTarget): Promise<readonly Frame[]> {
  try {
    const elements = await parent.locator(`css=${wanted.css ?? "iframe, frame"}`).elementHandles();
    const found = await Promise.all(
      elements.map(async (element) => ((await isWanted(element, wanted)) ? element.contentFrame() : null)),
    );
    return found.filter((frame) => frame !== null);
  } catch (error) {
    // Ignored: another frame may be the wanted one.
    if (isNavigating(error)) return [];
    throw error;
  }
}

async function isWanted(element: ElementHandle, { title, name, testId }: FrameTarget): Promise<boolean> {
  const has = async (attribute: string, expected: TextExpectation | undefined) => {
    const value = expected && (await element.getAttribute(attribute));
    return expected === undefined || (typeof value === "string" && searchFor(expected)(value));
  };
  return (
    (await has("title", title)) &&
    (await has("name", name)) &&
    (testId === undefined || (await element.getAttribute("data-testid")) === testId)
  );
}

const longestExcerpt = 500;

/** The visible text of the page, with white space collapsed in each line. */
export async function textOf(page: Pick<Frame, "locator">, timeout: number): Promise<string> {
  // biome-ignore lint/performance/useDomNodeTextContent: hidden text doesn't count.
  return asRead(await page.locator("body").innerText({ timeout }));
}

/** A text as a person reads it, with white space collapsed in each line. */
export function asRead(text: string): string {
  return withoutInvisible(text)
    .split("\n")
    .map((line) => line.replace(/\s+/g, " ").trim())
    .join("\n");
}

/** The beginning of the page's text, masked, for a message. Empty if there is none or the page doesn't respond. */
export async function excerptOf(
  page: Pick<Frame, "locator">,
  { deadline, mask }: Pick<BrowserUse, "deadline" | "mask">,
): Promise<string> {
  const text = await deadline.askBriefly(({ left }) => textOf(page, left));
  return shorten(mask.hide(text ?? ""), longestExcerpt);
}

/** The most characters of the page or the library that a message quotes. */
export const longestWords = 300;

/** What the library says of a failure, without its method's name, which the bundle shortens. */
export function saidOf(error: unknown, mask: Mask): string {
  const [first = ""] = describeError(error).split("\n");
  return shorten(mask.hide(first.replace(/^\w+\.\w+: (?:Error: )?/, "")), longestWords);
}
