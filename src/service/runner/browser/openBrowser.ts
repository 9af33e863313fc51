import type { BrowserContext, ConsoleMessage, Dialog, Download, Page } from "playwright-core";
import type { BrowserStep } from "../../../pipeline/types/browserStep.ts";
import type { Mask } from "../mask.ts";
import type { StepContext, StepLog } from "../stepContext.ts";
import { shorten } from "./pageContent.ts";
import { type StartedBrowser, startBrowser } from "./startBrowser.ts";

/** The browser that the steps of one resource share until their run ends, with the tabs that are open in it. */
export class OpenBrowser implements AsyncDisposable {
  readonly #started: StartedBrowser;
  /** In the order in which they were opened. */
  readonly #tabs: Page[] = [];
  readonly #broken = new AbortController();
  #notes: StepNotes | undefined;
  #isEnding = false;

  constructor(started: StartedBrowser) {
    this.#started = started;
    const { context } = started;
    for (const page of context.pages()) this.#add(page);
    this.#listen(context);
  }

  /** @throws Error whose message tells a person why there is no browser. */
  static async start(browser: BrowserStep["browser"], stepContext: StepContext): Promise<OpenBrowser> {
    return new OpenBrowser(await startBrowser(browser, stepContext));
  }

  /** The tab in front: the one that was opened last of those that are open, as a person would see it. */
  get page(): Page | undefined {
    return this.#tabs.at(-1);
  }

  /** Aborted, with a sentence as its reason, when the browser or its page has ended by itself. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  /** Until it is disposed, what the page does by itself is noted in this step's log. */
  noteFor({ log, mask }: StepContext): Disposable {
    this.#notes = new StepNotes(log, mask);
    return {
      [Symbol.dispose]: () => {
        this.#notes = undefined;
      },
    };
  }

  /** A tab to go to an address in, also when the last one was closed by its page. */
  async pageToGo(): Promise<Page> {
    return this.page ?? (await this.#started.context.newPage());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    await this.#started[Symbol.asyncDispose]();
  }

  #listen(context: BrowserContext): void {
    context.on("page", (page) => {
      this.#add(page);
      this.#notes?.add("a new tab was opened; the step goes on in it");
    });
    context.on("dialog", (dialog) => void this.#answer(dialog));
    context.on("console", (message) => this.#noteConsole(message));
    context.on("weberror", (error) => this.#notes?.add("error in the page:", error.error().message));
    context.on("close", () => this.#break("the browser ended while the step used it"));
  }

  #add(page: Page): void {
    if (this.#tabs.includes(page)) return;
    this.#tabs.push(page);
    page.on("crash", () => this.#break("the page crashed"));
    page.on("download", (download) => this.#noteDownload(download));
    page.on("close", () => {
      const index = this.#tabs.indexOf(page);
      if (index !== -1) this.#tabs.splice(index, 1);
    });
  }

  #break(reason: string): void {
    if (!this.#isEnding) this.#broken.abort(reason);
  }

  /** Nobody is there to answer. Leaving a page is what the step wants; anything else is declined. */
  async #answer(dialog: Dialog): Promise<void> {
    const isLeaving = dialog.type() === "beforeunload";
    if (!isLeaving) this.#notes?.add(`the page's ${dialog.type()} was dismissed:`, dialog.message());
    try {
      await (isLeaving ? dialog.accept() : dialog.dismiss());
    } catch {
      // The page has gone meanwhile, and its dialog with it.
    }
  }

  #noteConsole(message: ConsoleMessage): void {
    if (message.type() !== "error") return;
    const { url } = message.location();
    // Every browser asks for one, and most test servers have none.
    if (url.endsWith("/favicon.ico")) return;
    this.#notes?.add("console error:", url === "" ? message.text() : `${message.text()} (${url})`);
  }

  #noteDownload(download: Download): void {
    this.#notes?.add("a download was not taken:", download.suggestedFilename());
  }
}

const mostNotes = 50;
const longestWords = 500;

/** What a page does by itself, noted in a step's log, as far as a person can want to read it. */
class StepNotes {
  readonly #log: StepLog;
  readonly #mask: Mask;
  #count = 0;

  constructor(log: StepLog, mask: Mask) {
    this.#log = log;
    this.#mask = mask;
  }

  /** @param words the page's own. */
  add(what: string, words = ""): void {
    this.#count += 1;
    if (this.#count > mostNotes) return;
    const said = shorten(this.#mask.hide(words), longestWords);
    this.#log.note(said === "" ? what : `${what} ${said}`);
    if (this.#count === mostNotes) this.#log.note("what else the page says in this step is left out");
  }
}
