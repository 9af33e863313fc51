import { basename, dirname, join } from "node:path";
import type { BrowserContext, ConsoleMessage, Dialog, Download, Page } from "playwright-core";
import { describeError } from "../../contract/errors.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import type { Json } from "../../pipeline/expression/value.ts";
import type { BrowserStep, DialogAnswer } from "../../pipeline/types/browserStep.ts";
import type { Mask } from "../mask/mask.ts";
import { shorten } from "../output/readableText.ts";
import { projectFile, realPlace } from "../step/projectFile.ts";
import { type StepContext, StepFault } from "../step/stepContext.ts";
import { DeadlineExceeded, type StepDeadline } from "./deadline.ts";
import { type StartedBrowser, startBrowser } from "./startBrowser.ts";

export interface BrowserUse {
  readonly browser: OpenBrowser;
  readonly deadline: StepDeadline;
  readonly mask: Mask;
  readonly stepContext: StepContext;
  /** What the step collects for later. */
  readonly found: {
    /** The values of its `read`, by name. */
    readonly values: Record<string, Json>;
    /** The length of those values as JSON, in characters. */
    size: number;
    /** The files that it downloaded; the browser removes them when it ends. */
    readonly downloads: { readonly name: string; readonly path: string }[];
  };
}

/** The browser that the steps of a resource share until the run ends, with its tabs. */
export class OpenBrowser implements AsyncDisposable {
  readonly started: StartedBrowser;
  /** In opening order. */
  readonly #tabs: Page[] = [];
  readonly #broken = new AbortController();
  #note: ReturnType<typeof notesFor> | undefined;
  #chosen: Page | undefined;
  #wantsDownload: ((download: Download) => void) | undefined;
  #answers: DialogAnswer[] = [];
  #dismissed = 0;
  #isEnding = false;

  constructor(started: StartedBrowser) {
    this.started = started;
    const { context } = started;
    for (const page of context.pages()) this.#add(page);
    context.on("page", (page) => {
      this.#add(page);
      this.#note?.(`a new tab was opened${this.page === page ? "; the step goes on in it" : ""}`);
    });
    context.on("dialog", (dialog) => void this.#answer(dialog));
    context.on("console", (message) => this.#noteConsole(message));
    context.on("weberror", (error) => this.#note?.("error in the page:", error.error().message));
    context.on("close", () => this.#break("the browser ended while the step used it"));
  }

  /** @throws StepFault when there is no browser. */
  static async start(browser: BrowserStep["browser"], stepContext: StepContext): Promise<OpenBrowser> {
    const started = await startBrowser(browser, stepContext);
    try {
      if (browser.storage !== undefined)
        await loadStorage(started.context, stepContext.root, browser.storage);
      if (browser.isTraced === true)
        await started.context.tracing.start({ screenshots: true, snapshots: true });
      return new OpenBrowser(started);
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The tab in front: the one that was chosen, else the last one opened, as long as it is open. */
  get page(): Page | undefined {
    return this.#chosen ?? this.#tabs.at(-1);
  }

  get tabs(): readonly Page[] {
    return this.#tabs;
  }

  /**
   * Goes on in this tab until it closes or another one is chosen. A tab that opens meanwhile doesn't replace it, as an earlier
   * action may have opened that one.
   */
  async choose(tab: Page): Promise<void> {
    this.#chosen = tab;
    await tab.bringToFront();
  }

  answerNext(answer: DialogAnswer): void {
    this.#answers.push(answer);
  }

  /** Whether all answers of this step have found their dialogs. */
  get hasAnswered(): boolean {
    return this.#answers.length === 0;
  }

  /** Aborted when the browser or its page ends unexpectedly, or answers nothing but dialogs; the reason is a sentence. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  /** Logs the page's own events to this step's log until disposed. */
  noteFor(stepContext: StepContext): Disposable {
    this.#note = notesFor(stepContext);
    return {
      [Symbol.dispose]: () => {
        this.#note = undefined;
        this.#answers = [];
        this.#dismissed = 0;
      },
    };
  }

  /** The tab to navigate in. A new one if none is open, or if the open one's script never ends: that tab couldn't navigate. */
  async pageToGo(deadline: StepDeadline): Promise<Page> {
    const { page } = this;
    if (page !== undefined && (await deadline.pageAnswersNow(deadline.left / 2))) return page;
    const next = await this.started.context.newPage();
    if (page === undefined) return next;
    await page.close();
    this.#note?.("the page before didn't respond, so its tab was closed");
    return next;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    await this.started[Symbol.asyncDispose]();
  }

  #add(page: Page): void {
    if (this.#tabs.includes(page)) return;
    this.#tabs.push(page);
    page.on("crash", () => this.#break("the page crashed"));
    page.on("download", (download) => this.#takeDownload(download));
    page.on("close", () => {
      if (this.#chosen === page) this.#chosen = undefined;
      const index = this.#tabs.indexOf(page);
      if (index !== -1) this.#tabs.splice(index, 1);
    });
  }

  #break(reason: string): void {
    if (!this.#isEnding) this.#broken.abort(reason);
  }

  /**
   * Answers a dialog as the step says: a `beforeunload` is accepted, since the step wants to leave; others are dismissed, up to a
   * number in each step, since a page that opens them without end would answer nothing else.
   */
  async #answer(dialog: Dialog): Promise<void> {
    const isLeaving = dialog.type() === "beforeunload";
    const given = isLeaving ? undefined : this.#answers.shift();
    // Between two steps, there is none to report it to.
    if (!isLeaving && given === undefined && this.#note !== undefined) this.#dismissed += 1;
    if (this.#dismissed > mostDismissed) return this.#break(tooManyDialogs);
    const { answer, text } = given ?? { answer: "dismiss" };
    const how = answer === "accept" ? "accepted" : "dismissed";
    if (!isLeaving) this.#note?.(`the page's ${dialog.type()} was ${how}:`, dialog.message());
    try {
      await (isLeaving || answer === "accept" ? dialog.accept(text) : dialog.dismiss());
    } catch {
      // Ignored: the page was closed with its dialog.
    }
  }

  #noteConsole(message: ConsoleMessage): void {
    if (message.type() !== "error") return;
    const { url } = message.location();
    // Browsers request it unasked, and most test servers have none.
    if (url.endsWith("/favicon.ico")) return;
    this.#note?.("console error:", url === "" ? message.text() : `${message.text()} (${url})`);
  }

  /** The next download, whichever tab it comes from, until disposed; any other download is cancelled. */
  nextDownload(): Disposable & { readonly download: Promise<Download> } {
    const { promise, resolve } = Promise.withResolvers<Download>();
    this.#wantsDownload = resolve;
    return {
      download: promise,
      [Symbol.dispose]: () => {
        this.#wantsDownload = undefined;
      },
    };
  }

  #takeDownload(download: Download): void {
    const take = this.#wantsDownload;
    this.#wantsDownload = undefined;
    if (take !== undefined) {
      take(download);
      return;
    }
    this.#note?.("a download was not taken:", download.suggestedFilename());
    void download.cancel().catch(() => {
      // Ignored: it is over already, or the browser is.
    });
  }
}

const mostDismissed = 100;
const tooManyDialogs = `the page opened more than ${mostDismissed} dialogs in this step that no \`dialog\` answers, so its browser was ended`;

const mostNotes = 50;
const longestWords = 500;

/** Notes a page's own events in a step's log, limited in number and length. */
function notesFor({ log, mask }: StepContext) {
  let count = 0;
  // `words` are from the page.
  return (what: string, words = ""): void => {
    count += 1;
    if (count > mostNotes) return;
    const said = shorten(mask.hide(words), longestWords);
    log.note(said === "" ? what : `${what} ${said}`);
    if (count === mostNotes) log.note("what else the page says in this step is left out");
  };
}

/**
 * Puts the cookies and local storage of a file of the project into a browser.
 * @throws StepFault when it can't.
 */
async function loadStorage(context: BrowserContext, root: string, file: string): Promise<void> {
  const place = await projectFile(root, file).catch((error: unknown) => {
    throw new StepFault(`${describeError(error)}; a step's \`storage\` saves such a file`);
  });
  try {
    await context.setStorageState(place);
  } catch {
    // The library's message may hold a piece of the file, and so a secret.
    throw new StepFault(
      `\`${file}\` has no cookies and local storage as a step's \`storage\` saves them: let a step save it anew`,
    );
  }
}

/**
 * Saves a browser's cookies and local storage in a file that only this user can read. A symbolic link is replaced, not followed.
 * @returns the problem, if there is one.
 */
export async function saveStorage(
  file: string,
  { context }: StartedBrowser,
  deadline: StepDeadline,
  { root, log }: StepContext,
): Promise<string[]> {
  try {
    const place = join(await realPlace(root, dirname(file)), basename(file));
    const state = await deadline.forScreenshot().within(context.storageState());
    await replaceFile(place, JSON.stringify(state, undefined, 2), 0o600);
    log.note(`saved cookies and local storage in ${file}`);
    return [];
  } catch (error) {
    const why = error instanceof DeadlineExceeded ? "the page didn't respond" : describeError(error);
    return [`cookies and local storage can't be saved in \`${file}\`: ${why}`];
  }
}
