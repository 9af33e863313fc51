import type { Page } from "playwright-core";
import { describeExpectation } from "../../pipeline/file/expectation.ts";
import type { TextExpectation } from "../../pipeline/file/values.ts";
import { type BrowserStep, describeSeen, type SeenElements } from "../../pipeline/types/browserStep.ts";
import { shorten } from "../output/readableText.ts";
import { searchFor } from "../output/textSearch.ts";
import { StepFault } from "../step/stepContext.ts";
import { poll, type StepDeadline } from "./deadline.ts";
import { describeNone, isInFrame } from "./findElement.ts";
import type { BrowserUse, OpenBrowser } from "./openBrowser.ts";
import { excerptOf, framesOf, locate, textOf } from "./pageContent.ts";

const longestValue = 200;

/** An expectation about a page, which may take a while to hold. */
interface Expectation {
  holds(page: Page, deadline: StepDeadline): Promise<boolean>;
  /** Says what the page shows instead. */
  describe(page: Page, use: BrowserUse): Promise<string>;
}

/** Waits until all expectations hold at once. @throws StepFault with those that don't, one per line. */
export function checkPage(expect: BrowserStep["expect"], use: BrowserUse): Promise<void> {
  const { url, title, text, elements } = expect;
  const { browser } = use;
  const expectations = [
    ...(url === undefined ? [] : [expectValue("url", url, async (page) => page.url())]),
    ...(title === undefined ? [] : [expectValue("title", title, (page) => page.title())]),
    ...(text ?? []).map(expectText),
    ...elements.map((expected) => {
      const expectation = seen(expected);
      return {
        ...expectation,
        describe: async (page: Page) =>
          `expected ${describeSeen(expected)}: ${await expectation.describe(page, use)}`,
      };
    }),
    ...(browser.hasAnswered ? [] : [expectAnswered(browser)]),
  ];
  return awaitExpectations(expectations, use);
}

export async function awaitExpectations(
  expectations: readonly Expectation[],
  use: BrowserUse,
): Promise<void> {
  const { browser } = use;
  let missing = expectations;
  const found = await poll(use.deadline, async (now) => {
    const { page } = browser;
    if (page === undefined) return expectations.length === 0 ? true : undefined;
    const holding = await Promise.all(expectations.map((expectation) => expectation.holds(page, now)));
    missing = expectations.filter((_, index) => holding[index] !== true);
    return missing.length === 0 ? true : undefined;
  });
  if (found) return;
  const { page } = browser;
  if (page === undefined) throw new StepFault("the page was closed");
  const lines = missing.map((expectation) => expectation.describe(page, use));
  throw new StepFault((await Promise.all(lines)).join("\n"));
}

/** Expects `count` visible elements, or at least one. */
export function seen(expected: SeenElements): Expectation {
  const { target, count } = expected;
  const countOn = async (page: Page) => {
    const frames = await framesOf(page, target);
    const counts = await Promise.all(frames.map((frame) => locate(frame, target).all.count()));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  return {
    holds: async (page) => {
      const there = await countOn(page);
      return count === undefined ? there > 0 : there === count;
    },
    describe: async (page, use) => {
      const { deadline } = use;
      const there = await deadline.askBriefly(() => countOn(page));
      if (there === undefined) return `the page didn't respond ${deadline.describe()}`;
      if (there === 0) return describeNone(page, target, use);
      if (count === 0) return `it was still there ${deadline.describeEnd()}`;
      return `there ${there === 1 ? "was 1" : `were ${there}`} ${deadline.describeEnd()}`;
    },
  };
}

/** Expects that each `dialog` of the step has answered a dialog. */
function expectAnswered(browser: OpenBrowser): Expectation {
  return {
    holds: async () => browser.hasAnswered,
    describe: async (_, { deadline }) =>
      `the page opened no dialog that \`dialog\` could answer ${deadline.describe()}; it stands before the action that opens it`,
  };
}

function expectValue(
  what: string,
  expected: TextExpectation,
  read: (page: Page) => Promise<string>,
): Expectation {
  const isIn = searchFor(expected);
  return {
    holds: async (page) => isIn(await read(page)),
    describe: async (page, { deadline, mask }) => {
      const got = JSON.stringify((await deadline.askBriefly(() => read(page))) ?? "");
      return `${what}: expected ${describeExpectation(expected)}, got ${shorten(mask.hide(got), longestValue)}, ${deadline.describeEnd()}`;
    },
  };
}

function expectText(expected: TextExpectation): Expectation {
  const isIn = searchFor(expected);
  return {
    // Also looked for as elements are found, by the page's source: a style may change the letters that are shown.
    holds: async (page, deadline) =>
      isIn(await textOf(page, deadline.left)) ||
      (await locate(page.mainFrame(), { kind: "text", text: expected }).all.count()) > 0,
    describe: async (page, use) => {
      const excerpt = await excerptOf(page, use);
      const says = excerpt === "" ? "which shows no text" : `which says: ${excerpt}`;
      const isFramed = await isInFrame(page, { kind: "text", text: expected }, use.deadline);
      const hint = isFramed ? "; a frame of the page has it, where `elements` finds it with `frame`" : "";
      return `expected ${describeExpectation(expected)} on the page ${use.deadline.describe()}, ${says}${hint}`;
    },
  };
}
