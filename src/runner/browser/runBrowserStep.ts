import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import type { CDPSession, Page } from "playwright-core";
import { describeError } from "../../contract/errors.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { joinAddress } from "../../pipeline/file/address.ts";
import type { BrowserStep } from "../../pipeline/types/browserStep.ts";
import { type Mask, maskedBytes, maskedJson } from "../mask/mask.ts";
import { problemOfSize } from "../step/runOutput.ts";
import {
  failed,
  largestResult,
  type StepContext,
  StepFault,
  type StepOutcome,
  type StepResult,
  succeeded,
  tooLarge,
} from "../step/stepContext.ts";
import { checkPage } from "./checkPage.ts";
import { DeadlineExceeded, isTimeout, StepDeadline } from "./deadline.ts";
import { goTo } from "./goTo.ts";
import { type BrowserUse, OpenBrowser, saveStorage } from "./openBrowser.ts";
import { saidOf, textOf } from "./pageContent.ts";
import { performAction } from "./performAction.ts";
import { readFromPage } from "./readPage.ts";

/** The longest name of a download, in characters. */
const longestName = 100;
const stopLoadingAfterMilliseconds = 1000;
const wasEnded = failed("the run was ended before this step was over");

/** Opens the step's page or uses the open one, acts on it, and checks the expectations. @throws StepFault without a browser. */
export async function runBrowserStep(step: BrowserStep, stepContext: StepContext): Promise<StepOutcome> {
  if (stepContext.signal.aborted) return wasEnded;
  const start = () => OpenBrowser.start(step.browser, stepContext);
  const browser = await stepContext.shared.get(OpenBrowser, step.use, start);
  using _ = browser.noteFor(stepContext);
  // Begins after the browser's start, which doesn't count towards the step's timeout.
  const deadline = new StepDeadline(
    step.timeoutMilliseconds,
    anySignal([stepContext.signal, browser.broken]),
    async () => browser.page && tellBrowser(browser.page, "Runtime.evaluate", { expression: "0" }),
  );
  const { mask, results } = stepContext;
  const found: BrowserUse["found"] = { values: {}, size: 0, downloads: [] };
  const use: BrowserUse = { browser, deadline, mask, stepContext, found };
  const unmet = await perform(step, use).then(
    () => undefined,
    (error: unknown) => (error instanceof StepFault ? error.message : describeUnexpected(error, mask)),
  );
  if (stepContext.signal.aborted) return wasEnded;
  const { broken } = browser;
  const problem = broken.aborted ? String(broken.reason) : unmet;
  if (results.isNeeded) {
    const ask = () => browserResult(use);
    const result = await (problem === undefined ? ask() : askStopping(browser, ask));
    results.take(() => result);
  }
  // Only now that the secrets in the step's result are known.
  for (const download of found.downloads) await saveDownload(download, stepContext);
  const lines = [problem ?? [], results.problems()].flat();
  if (step.storage !== undefined && lines.length === 0)
    lines.push(...(await saveStorage(step.storage, browser.started, deadline, stepContext)));
  if (lines.length === 0) return succeeded;
  if (!broken.aborted) await saveFailure(use);
  if (step.browser.isTraced === true)
    await saveTrace({ ...use, deadline: new StepDeadline(step.timeoutMilliseconds, stepContext.signal) });
  if (broken.aborted) {
    await stepContext.shared.forget(browser);
    await browser[Symbol.asyncDispose]();
  }
  return failed(lines.join("\n"));
}

/** What a browser step gives to expressions. A page that doesn't respond gives only its address. */
async function browserResult({ browser: { page }, deadline, found }: BrowserUse): Promise<StepResult> {
  const { values: read, size } = found;
  if (page === undefined) return { values: read, size };
  const url = page.url();
  const seen = await deadline.askBriefly(({ left }) => Promise.all([page.title(), textOf(page, left)]));
  if (seen === undefined) return { values: { ...read, url }, size };
  const [title, text] = seen;
  return text.length > largestResult
    ? { values: { ...read, url, title }, missing: { text: tooLarge }, size }
    : { values: { ...read, url, title, text }, size: size + text.length };
}

/** @throws StepFault when something isn't as the step says. */
async function perform(step: BrowserStep, use: BrowserUse): Promise<void> {
  const { browser, deadline } = use;
  const { goto } = step;
  const toGo = () => askStopping(browser, () => browser.pageToGo(deadline));
  const page = goto === undefined ? browser.page : await deadline.within(toGo());
  // Only now, since it waits for every tab to answer.
  if (step.browser.isTraced === true)
    await deadline.within(browser.started.context.tracing.startChunk({ title: step.name }));
  if (page === undefined || (goto === undefined && page.url() === "about:blank"))
    throw new StepFault("no page is open: a step before this one has to `goto` one");
  if (goto !== undefined) await goTo(page, joinAddress(goto), step, use);
  for (const action of step.actions) await performAction(action, use);
  await checkPage(step.expect, use);
  for (const named of step.read ?? []) await readFromPage(named, use);
  if (step.screenshot === undefined) return;
  if (browser.page === undefined)
    throw new StepFault("the page was closed before its screenshot could be taken");
  await saveScreenshot(step.screenshot, browser.page, use);
}

/** The message of an unexpected error, or of an invalid CSS selector, which only the browser can detect. */
function describeUnexpected(error: unknown, mask: Mask): string {
  const selector = /(?:while parsing (?:css )?selector|Unknown engine|not a valid selector)/i.test(
    describeError(error),
  );
  const message = saidOf(error, mask);
  return selector ? `a \`css\` of this step is no CSS selector: ${message}` : message;
}

async function saveFailure(use: BrowserUse): Promise<void> {
  const { page } = use.browser;
  if (page === undefined) return;
  const save = () => saveScreenshot("failure.png", page, use);
  await askStopping(use.browser, save).catch((error: unknown) =>
    use.stepContext.log.note(describeError(error)),
  );
}

/** Saves a download as an artifact, masked if it is a text. */
async function saveDownload(
  { name, path }: BrowserUse["found"]["downloads"][number],
  { mask, saveArtifact, log }: StepContext,
): Promise<void> {
  // The page may have chosen the name.
  const shown = name.replace(/[^\p{L}\p{N} ._-]/gu, "_").slice(0, longestName);
  const { size } = await stat(path);
  const problem = problemOfSize(size);
  if (problem !== undefined) {
    log.note(`${shown} isn't kept: ${problem}`);
    return;
  }
  const { content } = maskedBytes(await readFile(path), mask);
  saveArtifact({ name: shown, mediaType: "application/octet-stream", content });
  log.note(`downloaded ${shown}, ${size} bytes`);
}

const retryMilliseconds = 50;
/** How long a picture waits for the page's fonts. */
const fontMilliseconds = 1000;

/** Saves a screenshot as an artifact. @throws StepFault when the page can't be pictured. */
async function saveScreenshot(
  name: string,
  page: Page,
  { deadline, stepContext }: BrowserUse,
): Promise<void> {
  const screenshot = (await deadline.pageAnswers())
    ? await takeScreenshot(page, deadline.forScreenshot())
    : undefined;
  if (screenshot === undefined) throw new StepFault(`the page couldn't be pictured for \`${name}\``);
  stepContext.saveArtifact({ name, mediaType: "image/png", content: screenshot });
  stepContext.log.note(`screenshot ${name}`);
}

/** Retries, since the screenshot fails at once while one page replaces another. */
async function takeScreenshot(page: Page, deadline: StepDeadline): Promise<Uint8Array | undefined> {
  // Otherwise the library waits for the page's fonts without limit, and a font that never comes prevents the picture.
  process.env["PW_TEST_SCREENSHOT_NO_FONTS_READY"] = "1";
  await deadline
    .atMost(fontMilliseconds)
    .within(page.evaluate("document.fonts.ready.then(() => {})"))
    .catch(() => {});
  for (;;) {
    try {
      return await deadline.within(page.screenshot({ type: "png", timeout: deadline.left }), 500);
    } catch (error) {
      if (isTimeout(error) || deadline.isOver || page.isClosed()) return undefined;
      await pause(retryMilliseconds);
    }
  }
}

/**
 * Asks a page, and stops its loading if the answer takes long, like Escape in a browser: a page whose navigation still waits for a
 * reply may not answer. The page stays as it is.
 */
async function askStopping<T>({ page }: OpenBrowser, ask: () => Promise<T>): Promise<T> {
  const stopLoading = () => void (page && tellBrowser(page, "Page.stopLoading").catch(() => {}));
  const stop = setTimeout(stopLoading, stopLoadingAfterMilliseconds);
  try {
    return await ask();
  } finally {
    clearTimeout(stop);
  }
}

/** Sends a command to the page directly: the driver would wait for what the page loads. */
async function tellBrowser(page: Page, ...command: Parameters<CDPSession["send"]>): Promise<void> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send(...command);
  } finally {
    await session.detach();
  }
}

/** The most that a trace may unpack to, in bytes. */
const largestUnpacked = 64 * 1024 * 1024;

/** Ends the trace of a step that failed, and saves it with its secrets masked. */
async function saveTrace({ browser, deadline, mask, stepContext }: BrowserUse): Promise<void> {
  const { context, folder } = browser.started;
  const { saveArtifact, log } = stepContext;
  const name = "trace.zip";
  const path = join(folder, name);
  try {
    await deadline.forScreenshot().within(context.tracing.stopChunk({ path }));
    const { size } = await stat(path);
    const problem = problemOfSize(size);
    if (problem !== undefined) throw new Error(problem);
    const content = masked(await readFile(path), mask);
    saveArtifact({ name, mediaType: "application/zip", content });
    log.note(`trace ${name}`);
  } catch (error) {
    const why = error instanceof DeadlineExceeded ? "the browser didn't respond" : describeError(error);
    log.note(`${name} isn't kept: ${why}`);
  } finally {
    await rm(path, { force: true });
  }
}

/** @throws Error for a trace that is too large. */
function masked(packed: Uint8Array, mask: Mask): Uint8Array {
  let unpacked = 0;
  const entries = unzipSync(packed, {
    // Stacks are of this program, not of anything that a person wrote.
    filter: ({ name, originalSize }) => {
      unpacked += originalSize;
      return unpacked <= largestUnpacked && !name.endsWith(".stacks");
    },
  });
  if (unpacked > largestUnpacked) throw new Error(`it unpacks to more than ${largestUnpacked} bytes`);
  return zipSync(
    Object.fromEntries(
      Object.entries(entries).map(([name, bytes]) => [name, maskedEntry(name, bytes, mask)]),
    ),
  );
}

function maskedEntry(name: string, bytes: Uint8Array, mask: Mask): Uint8Array {
  if (/\.(?:trace|network)$/.test(name)) {
    // Each event of the trace stays JSON.
    const lines = strFromU8(bytes).split("\n");
    return strToU8(lines.map((line) => maskedJson(line, mask) ?? mask.hide(line)).join("\n"));
  }
  const { isText, content } = maskedBytes(bytes, mask);
  if (isText) return typeof content === "string" ? strToU8(content) : content;
  // A secret may be among bytes that aren't text.
  const text = strFromU8(bytes, true);
  const masked = mask.hide(text);
  return masked === text ? bytes : strToU8(masked, true);
}
