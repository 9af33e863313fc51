import type { Locator } from "playwright-core";
import { type Action, describeAction } from "../../../pipeline/browser/action.ts";
import type { Target } from "../../../pipeline/browser/target.ts";
import { formatDuration } from "../../../pipeline/duration.ts";
import type { StepSurroundings } from "../stepOutcome.ts";
import { describeActionProblem } from "./actionProblem.ts";
import { type Deadline, TimeIsOver } from "./deadline.ts";
import { findElement } from "./findElement.ts";
import { awaitSeen, seen } from "./judgePage.ts";
import type { OpenBrowser } from "./openBrowser.ts";

/** Does what a person would do. @returns what is wrong; undefined when it is done. */
export async function performAction(
  action: Action,
  browser: OpenBrowser,
  deadline: Deadline,
  around: StepSurroundings,
): Promise<string | undefined> {
  const began = performance.now();
  const problem = await perform(action, browser, deadline, around);
  const what = describeAction(action);
  if (problem !== undefined) return `${what}: ${problem}`;
  around.log.note(`${what} → done in ${formatDuration(performance.now() - began)}`);
  return undefined;
}

function perform(
  action: Action,
  browser: OpenBrowser,
  deadline: Deadline,
  around: StepSurroundings,
): Promise<string | undefined> {
  const on = (target: Target, act: (element: Locator, options: Options) => Promise<unknown>) =>
    actOn(target, act, browser, deadline, around);
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
    case "wait-for":
      return awaitSeen([seen(action)], browser, deadline, around.mask);
    default:
      return action satisfies never;
  }
}

interface Options {
  /** In milliseconds. */
  readonly timeout: number;
}

/** How much later than the deadline the library's own timeout may come, which tells what it waited for. */
const patienceMilliseconds = 1000;

async function actOn(
  target: Target,
  act: (element: Locator, options: Options) => Promise<unknown>,
  browser: OpenBrowser,
  deadline: Deadline,
  { mask }: StepSurroundings,
): Promise<string | undefined> {
  const found = await findElement(browser, target, deadline, mask);
  if (found.kind === "problem") return found.problem;
  try {
    await deadline.within(act(found.element, { timeout: deadline.left }), patienceMilliseconds);
    return undefined;
  } catch (error) {
    if (error instanceof TimeIsOver) return `the page didn't respond ${deadline.describe()}`;
    return describeActionProblem(error, found.element, deadline, mask);
  }
}

async function pressOnPage(
  key: string,
  browser: OpenBrowser,
  deadline: Deadline,
): Promise<string | undefined> {
  const { page } = browser;
  if (page === undefined) return "the page was closed";
  try {
    await deadline.within(page.keyboard.press(key), patienceMilliseconds);
    return undefined;
  } catch (error) {
    if (error instanceof TimeIsOver) return `the page didn't respond ${deadline.describe()}`;
    if (error instanceof Error && /Unknown key/.test(error.message)) return `there is no key \`${key}\``;
    throw error;
  }
}
