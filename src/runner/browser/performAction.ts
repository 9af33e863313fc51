import type { Locator, Page } from "playwright-core";
import {
  type Action,
  describeAction,
  type ElementTarget,
  type TabTarget,
} from "../../pipeline/types/browserStep.ts";
import { duration } from "../../text/time.ts";
import type { Mask } from "../mask/mask.ts";
import { searchFor } from "../output/textSearch.ts";
import type { StepContext } from "../step/stepContext.ts";
import { awaitExpectations, seen } from "./checkPage.ts";
import { DeadlineExceeded, isTimeout, poll, type StepDeadline } from "./deadline.ts";
import { findElement } from "./findElement.ts";
import type { OpenBrowser } from "./openBrowser.ts";
import { shorten } from "./pageContent.ts";

/** Performs an action as a person would. @returns the problem; undefined if there is none. */
export async function performAction(
  action: Action,
  browser: OpenBrowser,
  deadline: StepDeadline,
  stepContext: StepContext,
): Promise<string | undefined> {
  const began = performance.now();
  const problem = await perform(action, browser, deadline, stepContext);
  const what = describeAction(action);
  if (problem !== undefined) return `${what}: ${problem}`;
  stepContext.log.note(`${what} → done in ${duration(performance.now() - began)}`);
  return undefined;
}

function perform(
  action: Action,
  browser: OpenBrowser,
  deadline: StepDeadline,
  stepContext: StepContext,
): Promise<string | undefined> {
  const on = (target: ElementTarget, act: (element: Locator, options: Options) => Promise<unknown>) =>
    actOn(target, act, browser, deadline, stepContext);
  switch (action.kind) {
    case "click":
      return on(action.target, (element, options) => element.click(options));
    case "fill":
      return on(action.target, (element, options) => element.fill(action.with, options));
    case "press":
      return action.target === undefined
        ? pressOnPage(action.key, browser, deadline)
        : on(action.target, (element, options) => element.press(action.key, options));
    case "select":
      return on(action.target, (element, options) => element.selectOption(action.option, options));
    case "check":
      return on(action.target, (element, options) => element.check(options));
    case "uncheck":
      return on(action.target, (element, options) => element.uncheck(options));
    case "dialog":
      browser.answerNext(action);
      return Promise.resolve(undefined);
    case "tab":
      return chooseTab(action, browser, deadline, stepContext.mask);
    case "wait-for":
      return awaitExpectations([seen(action)], browser, deadline, stepContext.mask);
    default:
      return action satisfies never;
  }
}

interface Options {
  /** In milliseconds. */
  readonly timeout: number;
}

/** How far past the deadline to wait for the library's own timeout error, which says what it waited for. */
const timeoutGraceMilliseconds = 1000;

async function actOn(
  target: ElementTarget,
  act: (element: Locator, options: Options) => Promise<unknown>,
  browser: OpenBrowser,
  deadline: StepDeadline,
  { mask }: StepContext,
): Promise<string | undefined> {
  const found = await findElement(browser, target, deadline, mask);
  if (found.kind === "problem") return found.problem;
  try {
    await deadline.within(act(found.element, { timeout: deadline.left }), timeoutGraceMilliseconds);
    return undefined;
  } catch (error) {
    if (error instanceof DeadlineExceeded) return `the page didn't respond ${deadline.describe()}`;
    if (hasClosedItsPage(found.element.page())) return undefined;
    return describeActionProblem(error, found.element, deadline, mask);
  }
}

async function pressOnPage(
  key: string,
  browser: OpenBrowser,
  deadline: StepDeadline,
): Promise<string | undefined> {
  const { page } = browser;
  if (page === undefined) return "the page was closed";
  try {
    await deadline.within(page.keyboard.press(key), timeoutGraceMilliseconds);
    return undefined;
  } catch (error) {
    if (error instanceof DeadlineExceeded) return `the page didn't respond ${deadline.describe()}`;
    if (hasClosedItsPage(page)) return undefined;
    if (error instanceof Error && /Unknown key/.test(error.message)) return `there is no key \`${key}\``;
    throw error;
  }
}

/** Waits for a tab that fits; of several it takes the one opened last. */
async function chooseTab(
  { title, url }: TabTarget,
  browser: OpenBrowser,
  deadline: StepDeadline,
  mask: Mask,
): Promise<string | undefined> {
  const isTitle = title && searchFor(title);
  const isUrl = url && searchFor(url);
  const found = await poll(deadline, async () => {
    for (const tab of browser.tabs.toReversed()) {
      if (isUrl?.(tab.url()) !== false && isTitle?.(await tab.title()) !== false) return tab;
    }
    return undefined;
  });
  if (found === undefined) {
    const tabs = browser.tabs.map((tab) => shorten(mask.hide(tab.url()), longestWords)).join(", ");
    return `there was none ${deadline.describe()}; the tabs are at: ${tabs}`;
  }
  await deadline.within(browser.choose(found));
  return undefined;
}

/** Whether an action closed its tab and others are open: the tab may be gone before the library hears that it was done. */
function hasClosedItsPage(page: Page): boolean {
  return page.isClosed() && page.context().pages().length > 0;
}

const longestWords = 300;

/** Why an element that was found couldn't be used, in a sentence. */
async function describeActionProblem(
  error: unknown,
  element: Locator,
  deadline: StepDeadline,
  mask: Mask,
): Promise<string> {
  const message = error instanceof Error ? error.message : String(error);
  const until = deadline.describe();
  const end = deadline.describeEnd();
  if (/Unknown key: "(.*)"/.test(message))
    return `there is no key \`${/Unknown key: "(.*)"/.exec(message)?.[1]}\``;
  if (/Element is not a <select>/i.test(message)) return "it is no list to select from";
  if (/Not a checkbox or radio button/i.test(message)) return "it is no checkbox, radio button or switch";
  if (/Cannot uncheck radio button/i.test(message))
    return "a radio button can't be unchecked; check another one";
  if (/did not change its state/i.test(message)) return "the page didn't let its state change";
  if (/Element is not an <input>|of type .* cannot be filled|Cannot type text into/i.test(message)) {
    return "it is no field that takes such a text";
  }
  if (/did not find some options/.test(message)) {
    return `it had no such option ${until}${await optionsOf(element, deadline, mask)}`;
  }
  const cover = [...message.matchAll(/- (<.*>)(?: from .* subtree)? intercepts pointer events/g)].at(-1)?.[1];
  if (cover !== undefined) return `it was still covered by ${shorten(mask.hide(cover), longestWords)} ${end}`;
  const state = [...message.matchAll(/element is not (enabled|stable|editable|visible)/g)].at(-1)?.[1];
  if (state !== undefined) return `it was still ${stateOf(state)} ${end}`;
  if (/element is outside of the viewport/.test(message))
    return `it was still outside of what can be scrolled to ${end}`;
  if (/element was detached/.test(message)) return `it went away and didn't come back ${until}`;
  if (isTimeout(error)) {
    const responds = await isResponding(element, deadline);
    return responds ? `there was no time left for it ${until}` : `the page didn't respond ${until}`;
  }
  const [first = ""] = message.split("\n");
  return shorten(mask.hide(first.replace(/^locator\.\w+: (?:Error: )?/, "")), longestWords);
}

async function isResponding(element: Locator, deadline: StepDeadline): Promise<boolean> {
  try {
    await deadline.forDiagnosis().within(element.count());
    return true;
  } catch {
    return false;
  }
}

function stateOf(word: string): string {
  switch (word) {
    case "enabled":
      return "disabled";
    case "stable":
      return "moving";
    case "editable":
      return "read-only";
    default:
      return "hidden";
  }
}

async function optionsOf(element: Locator, deadline: StepDeadline, mask: Mask): Promise<string> {
  try {
    const options = await deadline.forDiagnosis().within(element.locator("option").allInnerTexts());
    const names = options.map((option) => `\`${shorten(mask.hide(option), 60)}\``).join(", ");
    return options.length === 0 ? "; it has none" : `; the options are: ${shorten(names, longestWords)}`;
  } catch {
    return "";
  }
}
