import type { Locator, Page } from "playwright-core";
import type { Target } from "../../../pipeline/browser/target.ts";
import type { Mask } from "../mask.ts";
import type { Deadline } from "./deadline.ts";
import { locate } from "./locate.ts";
import type { OpenBrowser } from "./openBrowser.ts";
import { poll } from "./poll.ts";
import { describeAll, whatIsThere } from "./whatIsThere.ts";

/** The one element that is meant, or what is wrong. */
type FoundElement =
  | { readonly kind: "found"; readonly element: Locator }
  | { readonly kind: "problem"; readonly problem: string };

/** Waits until the page shows the element. */
export async function findElement(
  browser: OpenBrowser,
  target: Target,
  deadline: Deadline,
  mask: Mask,
): Promise<FoundElement> {
  const found = await poll(deadline, async (): Promise<FoundElement | undefined> => {
    const { page } = browser;
    if (page === undefined) return undefined;
    const { all, exact } = locate(page, target);
    const count = await all.count();
    if (count === 0) return undefined;
    if (count === 1) return { kind: "found", element: all };
    if (exact !== undefined && (await exact.count()) === 1) return { kind: "found", element: exact };
    return { kind: "problem", problem: await describeMany(all, count, deadline, mask) };
  });
  return found ?? { kind: "problem", problem: await describeNone(browser.page, target, deadline, mask) };
}

async function describeMany(all: Locator, count: number, deadline: Deadline, mask: Mask): Promise<string> {
  const which = await describeAll(all, deadline, mask);
  return `it could be any of ${count} elements${which}; say which in a way that fits only one`;
}

/** Why the element wasn't to be seen until the deadline, and what was. */
export async function describeNone(
  page: Page | undefined,
  target: Target,
  deadline: Deadline,
  mask: Mask,
): Promise<string> {
  if (page === undefined) return "the page was closed";
  const hidden = await countHidden(page, target, deadline);
  if (hidden === "unknown") return `the page didn't respond ${deadline.describe()}`;
  if (hidden > 0) return `it is there, but was still hidden ${deadline.describeEnd()}`;
  return `there was none ${deadline.describe()}${await whatIsThere(page, target, deadline, mask)}`;
}

async function countHidden(page: Page, target: Target, deadline: Deadline): Promise<number | "unknown"> {
  try {
    return await deadline.toTellWhy().within(locate(page, target).hiddenToo.count());
  } catch {
    return "unknown";
  }
}
