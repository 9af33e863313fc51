import type { Download, Locator, Page } from "playwright-core";
import {
  type Action,
  describeAction,
  type ElementTarget,
  type TabTarget,
} from "../../pipeline/types/browserStep.ts";
import { duration } from "../../text/time.ts";
import { shorten } from "../output/readableText.ts";
import { searchFor } from "../output/textSearch.ts";
import { projectFile } from "../step/projectFile.ts";
import { about, StepFault } from "../step/stepContext.ts";
import { awaitExpectations, seen } from "./checkPage.ts";
import { DeadlineExceeded, isTimeout, poll } from "./deadline.ts";
import { findElement } from "./findElement.ts";
import type { BrowserUse } from "./openBrowser.ts";
import { longestWords, saidOf } from "./pageContent.ts";
import { evaluateScript } from "./readPage.ts";

/** Performs an action as a person would. @throws StepFault when it can't be done. */
export async function performAction(action: Action, use: BrowserUse): Promise<void> {
  const began = performance.now();
  const what = describeAction(action);
  await about(what, perform(action, use));
  use.stepContext.log.note(`${what} → done in ${duration(performance.now() - began)}`);
}

function perform(action: Action, use: BrowserUse): Promise<unknown> {
  switch (action.kind) {
    case "click":
      return actOn(use, action.target, (element, options) => element.click(options));
    case "fill":
      return actOn(use, action.target, (element, options) => fill(element, action.with, options));
    case "press":
      return action.target === undefined
        ? pressOnPage(action.key, use)
        : actOn(use, action.target, (element, options) => element.press(action.key, options));
    case "select":
      return actOn(use, action.target, (element, options) => element.selectOption(action.option, options));
    case "check":
      return actOn(use, action.target, (element, options) => element.check(options));
    case "uncheck":
      return actOn(use, action.target, (element, options) => element.uncheck(options));
    case "evaluate":
      return evaluateScript(action, use);
    case "upload":
      return upload(action, use);
    case "download":
      return download(action, use);
    case "dialog":
      use.browser.answerNext(action);
      return Promise.resolve();
    case "tab":
      return chooseTab(action, use);
    case "wait-for":
      return awaitExpectations([seen(action)], use);
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

/** Waits for an element, also for a hidden one if `mayBeHidden`, and acts on it. */
async function actOn(
  use: BrowserUse,
  target: ElementTarget,
  act: (element: Locator, options: Options) => Promise<unknown>,
  mayBeHidden = false,
): Promise<void> {
  const { deadline } = use;
  const element = await findElement(target, use, mayBeHidden);
  try {
    await deadline.within(act(element, { timeout: deadline.left }), timeoutGraceMilliseconds);
  } catch (error) {
    if (error instanceof StepFault) throw error;
    if (hasClosedItsPage(element.page())) return;
    throw new StepFault(await describeActionProblem(error, element, use));
  }
}

/** Examples of what date and time fields take. Any other text empties such a field, which the library doesn't report. */
const timesTaken: Readonly<Record<string, string>> = {
  date: "2026-02-28",
  "datetime-local": "2026-02-28T14:30",
  month: "2026-02",
  time: "14:30",
  week: "2026-W09",
};

async function fill(element: Locator, text: string, options: Options): Promise<void> {
  const taken = timesTaken[(await element.getAttribute("type", options))?.toLowerCase() ?? ""];
  // Tried on a copy, since filling the field itself may make the page go on.
  const empties =
    taken !== undefined &&
    (await element.evaluate(
      (field, value) => value !== "" && Object.assign(field.cloneNode(), { value }).value === "",
      text.trim(),
      options,
    ));
  if (empties) throw new StepFault(`it takes no such text, but one as \`${taken}\``);
  await element.fill(text, options);
}

async function pressOnPage(key: string, { browser: { page }, deadline }: BrowserUse): Promise<void> {
  if (page === undefined) throw new StepFault("the page was closed");
  try {
    await deadline.within(page.keyboard.press(key), timeoutGraceMilliseconds);
  } catch (error) {
    if (hasClosedItsPage(page) && !(error instanceof DeadlineExceeded)) return;
    if (error instanceof Error && /Unknown key/.test(error.message))
      throw new StepFault(`there is no key \`${key}\``);
    throw error;
  }
}

async function upload(
  { target, files }: Extract<Action, { kind: "upload" }>,
  use: BrowserUse,
): Promise<void> {
  const { root } = use.stepContext;
  const places = await Promise.all(files.map((file) => projectFile(root, file)));
  // The field itself is often hidden behind a button.
  const put = async (element: Locator, options: Options) => {
    // The library would retry until its timeout.
    if ((await element.getAttribute("type", options))?.toLowerCase() !== "file")
      throw new StepFault("it is no field for files");
    await element.setInputFiles(places, options);
  };
  return actOn(use, target, put, true);
}

async function download(
  { target, as }: Extract<Action, { kind: "download" }>,
  use: BrowserUse,
): Promise<void> {
  const { browser, deadline, found } = use;
  using next = browser.nextDownload();
  await actOn(use, target, (element, options) => element.click(options));
  let taken: Download | undefined;
  try {
    taken = await deadline.within(next.download);
    const path = await deadline.within(taken.path());
    found.downloads.push({ name: as ?? taken.suggestedFilename(), path });
  } catch (error) {
    if (taken === undefined) throw new StepFault(`it caused no download ${deadline.describe()}`);
    // Not awaited: it may wait for a page that hangs.
    void taken.cancel().catch(() => {});
    throw new StepFault(
      error instanceof DeadlineExceeded
        ? `the download wasn't complete ${deadline.describe()}`
        : "the download broke off",
    );
  }
}

/** Waits for a tab that fits; of several it takes the one opened last. */
async function chooseTab({ title, url }: TabTarget, { browser, deadline, mask }: BrowserUse): Promise<void> {
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
    throw new StepFault(`there was none ${deadline.describe()}; the tabs are at: ${tabs}`);
  }
  await deadline.within(browser.choose(found));
}

/** Whether an action closed its tab and others are open: the tab may be gone before the library hears that the action is done. */
function hasClosedItsPage(page: Page): boolean {
  return page.isClosed() && page.context().pages().length > 0;
}

async function describeActionProblem(error: unknown, element: Locator, use: BrowserUse): Promise<string> {
  const { deadline, mask } = use;
  const message = error instanceof Error ? error.message : String(error);
  const until = deadline.describe();
  const end = deadline.describeEnd();
  const [, unknownKey] = /Unknown key: "(.*)"/.exec(message) ?? [];
  if (unknownKey !== undefined) return `there is no key \`${unknownKey}\``;
  if (/Non-multiple file input/i.test(message)) return "it takes one file only";
  if (/Element is not a <select>/i.test(message)) return "it is no list to select from";
  if (/Not a checkbox or radio button/i.test(message)) return "it is no checkbox, radio button or switch";
  if (/Cannot uncheck radio button/i.test(message))
    return "a radio button can't be unchecked; check another one";
  if (/did not change its state/i.test(message)) return "the page didn't let its state change";
  if (/Element is not an <input>|of type .* cannot be filled|Cannot type text into/i.test(message)) {
    return "it is no field that takes such a text";
  }
  if (/did not find some options/.test(message)) {
    return `it had no such option ${until}${await optionsOf(element, use)}`;
  }
  if (/option being selected is not enabled/.test(message)) return `that option was still disabled ${end}`;
  const cover = [...message.matchAll(/- (<.*>)(?: from .* subtree)? intercepts pointer events/g)].at(-1)?.[1];
  if (cover !== undefined) return `it was still covered by ${shorten(mask.hide(cover), longestWords)} ${end}`;
  const state = [...message.matchAll(/element is not (enabled|stable|editable|visible)/g)].at(-1)?.[1];
  if (state !== undefined) return `it was still ${otherwise[state]} ${end}`;
  if (/element is outside of the viewport/.test(message))
    return `it was still outside of what can be scrolled to ${end}`;
  if (/element was detached/.test(message)) return `it went away and didn't come back ${until}`;
  if (isTimeout(error)) {
    const responds = (await deadline.askBriefly(() => element.count())) !== undefined;
    return responds ? `there was no time left for it ${until}` : `the page didn't respond ${until}`;
  }
  return saidOf(error, mask);
}

/** The opposites of the states that the library waits for. */
const otherwise: Readonly<Record<string, string>> = {
  enabled: "disabled",
  stable: "moving",
  editable: "read-only",
  visible: "hidden",
};

async function optionsOf(element: Locator, { deadline, mask }: BrowserUse): Promise<string> {
  const options = await deadline.askBriefly(() => element.locator("option").allInnerTexts());
  if (options === undefined) return "";
  const names = options.map((option) => `\`${shorten(mask.hide(option), 60)}\``).join(", ");
  return options.length === 0 ? "; it has none" : `; the options are: ${shorten(names, longestWords)}`;
}
