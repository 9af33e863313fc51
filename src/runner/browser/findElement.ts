import type { Frame, Locator, Page } from "playwright-core";
import { describeExpectation } from "../../pipeline/file/expectation.ts";
import type { TextExpectation } from "../../pipeline/file/values.ts";
import { type ElementTarget, roles } from "../../pipeline/types/browserStep.ts";
import type { Mask } from "../mask/mask.ts";
import { shorten } from "../output/readableText.ts";
import { searchFor } from "../output/textSearch.ts";
import { StepFault } from "../step/stepContext.ts";
import { poll, type StepDeadline } from "./deadline.ts";
import type { BrowserUse } from "./openBrowser.ts";
import { excerptOf, frameNames, framesOf, locate } from "./pageContent.ts";

/**
 * Waits until the page shows the element.
 * @param mayBeHidden whether it may be one that can't be seen.
 * @throws StepFault at once when there are several, and at the deadline when there is none.
 */
export async function findElement(
  target: ElementTarget,
  use: BrowserUse,
  mayBeHidden = false,
): Promise<Locator> {
  const { browser } = use;
  const found = await poll(use.deadline, async () => {
    const { page } = browser;
    if (page === undefined) return undefined;
    const located = (await framesOf(page, target)).map((frame) => locate(frame, target));
    const all = await counted(located.map(({ all, hiddenToo }) => (mayBeHidden ? hiddenToo : all)));
    if (all.first === undefined || all.count === 1) return all.first;
    const exact = await counted(located.map((place) => place.exact));
    if (exact.first !== undefined && exact.count === 1) return exact.first;
    const which = await describeAll(all.first, use);
    throw new StepFault(
      `it could be any of ${all.count} elements${which}; say which in a way that fits only one`,
    );
  });
  if (found !== undefined) return found;
  throw new StepFault(await describeNone(browser.page, target, use));
}

/** The first of the locators that finds something, and how many elements all of them find. */
async function counted(
  locators: readonly Locator[],
): Promise<{ readonly first: Locator | undefined; readonly count: number }> {
  const counts = await Promise.all(locators.map((locator) => locator.count()));
  return {
    first: locators.find((_, index) => counts[index] !== 0),
    count: counts.reduce((sum, count) => sum + count, 0),
  };
}

/** Why the element wasn't visible by the deadline, and what the page showed instead. */
export async function describeNone(
  page: Page | undefined,
  target: ElementTarget,
  use: BrowserUse,
): Promise<string> {
  const { deadline, mask } = use;
  if (page === undefined) return "the page was closed";
  const looked = await deadline.askBriefly(async () => {
    const frames = await framesOf(page, target);
    const hidden = await counted(frames.map((frame) => locate(frame, target).hiddenToo));
    const names = frames.length === 0 ? await frameNames(page) : [];
    return { first: frames[0], isHidden: hidden.count > 0, names };
  });
  if (looked === undefined) return `the page didn't respond ${deadline.describe()}`;
  const { first, isHidden, names } = looked;
  if (first === undefined) {
    const others = list("the frames are", names.map(inQuotes), "the page has no frame", mask);
    return `there was no such frame ${deadline.describe()}${others}`;
  }
  if (isHidden) return `it is there, but was still hidden ${deadline.describeEnd()}`;
  const others = await deadline.askBriefly((short) =>
    listAlternatives(first, target, { ...use, deadline: short }),
  );
  const hint = (await isInFrame(page, target, deadline))
    ? "; a frame of the page has it, which `frame` has to name"
    : "";
  return `there was none ${deadline.describe()}${others ?? ""}${hint}`;
}

/** Whether a frame of the page has the element although the target names no frame. */
export async function isInFrame(page: Page, target: ElementTarget, deadline: StepDeadline): Promise<boolean> {
  if (target.frame !== undefined) return false;
  const inner = page.frames().filter((frame) => frame !== page.mainFrame());
  const found = await deadline.askBriefly(() => counted(inner.map((frame) => locate(frame, target).all)));
  return found?.first !== undefined;
}

const mostNames = 10;
const longestName = 60;
const fieldRoles = [
  "textbox",
  "searchbox",
  "combobox",
  "listbox",
  "checkbox",
  "radio",
  "spinbutton",
  "slider",
  "switch",
];

interface AccessibleElement {
  readonly role: string;
  readonly name: string;
}

/** What the page has instead of the missing element, as the end of a sentence. */
async function listAlternatives(page: Frame, target: ElementTarget, use: BrowserUse): Promise<string> {
  const { deadline, mask } = use;
  switch (target.kind) {
    case "role":
      return describeRole(target.role, target.name, await accessibleElements(page, deadline), mask);
    case "label": {
      const fields = (await accessibleElements(page, deadline)).filter(({ role }) =>
        fieldRoles.includes(role),
      );
      const isName = searchFor(target.label);
      // Such as a field whose label takes its text from outside the component that the field is in.
      const named = fields.find(({ name }) => isName(name));
      const hint =
        named === undefined
          ? ""
          : `; the ${named.role} of this name has no label that says it: find it by \`role: ${named.role}\` and \`name\``;
      const names = fields.map(({ name }) => inQuotes(name));
      return list("the fields are", names, "the page has no field", mask) + hint;
    }
    case "placeholder":
      return list("the placeholders are", await attributes(page, "placeholder"), "the page has none", mask);
    case "test-id":
      return list("the test ids are", await attributes(page, "data-testid"), "the page has none", mask);
    case "css":
    case "text": {
      const excerpt = await excerptOf(page, use);
      return excerpt === "" ? "; the page shows no text" : `; the page says: ${excerpt}`;
    }
  }
}

function describeRole(
  role: string,
  name: TextExpectation | undefined,
  elements: readonly AccessibleElement[],
  mask: Mask,
): string {
  const same = elements.filter((element) => element.role === role);
  const isName = name === undefined ? () => false : searchFor(name);
  const others = elements.filter(
    (element) => element.role !== role && element.name !== "" && isName(element.name),
  );
  const [other] = others;
  const hint =
    name === undefined || other === undefined
      ? ""
      : `; ${describeExpectation(name)} is the name of a ${other.role}`;
  const names = same.map((element) => inQuotes(element.name));
  return list(`the ${plural(role)} are`, names, `the page has no ${role}`, mask) + hint;
}

function list(beginning: string, names: readonly string[], none: string, mask: Mask): string {
  const [first, ...more] = [...new Set(names)].map((name) => shorten(mask.hide(name), longestName));
  if (first === undefined) return `; ${none}`;
  const shown = [first, ...more].slice(0, mostNames).join(", ");
  const rest = more.length + 1 - mostNames;
  return `; ${beginning}: ${shown}${rest > 0 ? ` and ${rest} more` : ""}`;
}

function inQuotes(name: string): string {
  return name === "" ? "one without a name" : `\`${name}\``;
}

function plural(role: string): string {
  return /(?:x|ch|s)$/.test(role) ? `${role}es` : `${role}s`;
}

async function accessibleElements(
  page: Frame,
  { left }: StepDeadline,
): Promise<readonly AccessibleElement[]> {
  return readSnapshot(await page.locator("body").ariaSnapshot({ timeout: left }));
}

/** Parses lines such as `- button "Go"`, or quoted as a whole where YAML needs it: `- 'link "a: b"':`. */
function readSnapshot(snapshot: string): readonly AccessibleElement[] {
  return snapshot.split("\n").flatMap((line): AccessibleElement[] => {
    const [, quote, plain] = /^\s*- (?:'((?:[^']|'')*)'|(.*))/.exec(line) ?? [];
    const [, role, name] =
      /^([a-z]+)(?: ("(?:[^"\\]|\\.)*"))?/.exec(quote?.replaceAll("''", "'") ?? plain ?? "") ?? [];
    if (role === undefined || !roles.some((known) => known === role)) return [];
    return [{ role, name: name === undefined ? "" : String(JSON.parse(name)) }];
  });
}

async function attributes(page: Frame, name: string): Promise<string[]> {
  const elements = await page.locator(`css=[${name}]`).filter({ visible: true }).all();
  const values = await Promise.all(elements.slice(0, mostNames).map((element) => element.getAttribute(name)));
  return values.flatMap((value) => (value === null ? [] : `\`${value}\``));
}

/** Lists elements as the accessibility tree does: `button "Go"`. */
async function describeAll(all: Locator, { deadline, mask }: BrowserUse): Promise<string> {
  const snapshots = await deadline.askBriefly(async (short) => {
    const elements = (await all.all()).slice(0, mostNames);
    return Promise.all(elements.map((element) => element.ariaSnapshot({ timeout: short.left })));
  });
  if (snapshots === undefined) return "";
  const lines = snapshots.map(
    (snapshot) => snapshot.split("\n", 1)[0]?.replace(/^- /, "").replace(/:$/, "") ?? "",
  );
  return `: ${lines.map((line) => shorten(mask.hide(line), longestName)).join(", ")}`;
}
