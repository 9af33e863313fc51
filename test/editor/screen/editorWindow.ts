import assert from "node:assert/strict";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import { settingsFile } from "../../../scripts/editor/serverFolders.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { type ServedEditor, type ServedEditorOptions, servedEditor } from "../served/servedEditor.ts";
import { Notifications } from "./notifications.ts";
import { QuickInput } from "./quickInput.ts";
import { StatusBar } from "./statusBar.ts";
import { patienceMilliseconds } from "./waitFor.ts";

const millisecondsToOpen = 90_000;

/** Runs in the page: all that the window has written down, of itself and of extensions. */
const keptTexts = `(async () => {
  const texts = [];
  for (const { name } of await indexedDB.databases()) {
    if (!name.startsWith("vscode-web-state-db-")) continue;
    const db = await new Promise((resolve, reject) => {
      const opening = indexedDB.open(name);
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error);
    });
    for (const store of db.objectStoreNames) {
      texts.push(...await new Promise((resolve, reject) => {
        const reading = db.transaction(store).objectStore(store).getAll();
        reading.onsuccess = () => resolve(reading.result);
        reading.onerror = () => reject(reading.error);
      }));
    }
    db.close();
  }
  return texts.join("\\n");
})()`;

export interface WindowOptions extends Omit<ServedEditorOptions, "smoke"> {
  /** The most that any part of the editor can log. */
  readonly logsAll?: boolean;
}

/** A VS Code on a real screen, with a packaged extension in it, driven as its user drives it: by keys and clicks. */
export class EditorWindow implements AsyncDisposable {
  readonly page: Page;
  readonly quickInput: QuickInput;
  readonly statusBar: StatusBar;
  readonly notifications: Notifications;
  readonly #editor: ServedEditor;
  readonly #console: string[] = [];

  /** Opens a VS Code of its own in a browser and waits until its window shows. */
  static async start(
    { logsAll = false, ...options }: WindowOptions,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<EditorWindow> {
    // The test driver would switch the toasts off.
    const window = new EditorWindow(
      await servedEditor({ extension: "package", ...options, smoke: false }, signal),
    );
    try {
      await window.#open(logsAll ? { payload: JSON.stringify([["logLevel", "trace"]]) } : {});
      return window;
    } catch (error) {
      await window.keepTrace("a window that did not open").catch(() => {});
      await window[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(editor: ServedEditor, page = editor.page) {
    this.page = page;
    this.quickInput = new QuickInput(page);
    this.statusBar = new StatusBar(page);
    this.notifications = new Notifications(page);
    this.#editor = editor;
    page.setDefaultTimeout(patienceMilliseconds);
    page.on("console", (message) => this.#console.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => this.#console.push(`uncaught: ${error.stack ?? error.message}`));
  }

  /** Where this VS Code keeps its settings, its installed extensions and its logs. */
  get dataFolder(): string {
    return this.#editor.dataFolder;
  }

  /** What the browser's console has shown so far. */
  get console(): string {
    return this.#console.join("\n");
  }

  /**
   * Opens the workspace in one more window of this VS Code, as the same user. It closes with the first.
   * @param script runs in the page before anything of VS Code does.
   */
  async openAnother(script?: string): Promise<EditorWindow> {
    const window = new EditorWindow(this.#editor, await this.page.context().newPage());
    if (script !== undefined) await window.page.addInitScript(script);
    await window.#open();
    return window;
  }

  /** Writes the user's settings anew, beside those that the window was opened with, and loads the window anew with them: it misses what is written behind its back. */
  async writeSettings(settings: Readonly<Record<string, unknown>>): Promise<void> {
    await writeFile(settingsFile(this.dataFolder), JSON.stringify({ ...this.#editor.settings, ...settings }));
    await this.reload();
  }

  /** Sets the API key of the window's service from the command palette. */
  async setApiKey(key: string): Promise<void> {
    await this.quickInput.runCommand("Pipeline Runs: Set API Key…");
    await this.enterApiKey(key);
  }

  /** Types a key where the window asks for one. */
  async enterApiKey(key: string): Promise<void> {
    await this.quickInput.waitForTitle("Set API Key");
    assert(await this.quickInput.isPassword());
    await this.quickInput.type(key);
    await this.quickInput.accept();
  }

  /** Leaves whatever a test that failed was at. */
  async settle(): Promise<void> {
    await this.#escape();
    await this.quickInput.runCommand("Notifications: Clear All Notifications");
  }

  /** Loads the window anew, as its user's reload does, and waits until it shows again. */
  async reload(): Promise<void> {
    await this.page.reload({ waitUntil: "domcontentloaded" });
    await this.#waitForWorkbench();
  }

  /** Waits until the window has written down what extensions keep in it, which it does every few seconds: a reload loses the rest. */
  async waitUntilKept(word: string): Promise<void> {
    const deadline = Date.now() + patienceMilliseconds;
    while (!String(await this.page.evaluate(keptTexts)).includes(word)) {
      if (Date.now() > deadline) throw new Error(`The window never wrote down ${word}`);
      await pause(200);
    }
  }

  /**
   * Keeps what a failure needs to be understood in `test-results/<name>/`: the screen, the browser's console, VS Code's logs.
   * @returns the folder.
   */
  async keepTrace(name: string): Promise<string> {
    const folder = join(projectRoot, "test-results", name.replaceAll(/[^\p{L}\p{N}]+/gu, "-").slice(0, 120));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "browser.log"), `${this.#console.join("\n")}\n`);
    await writeFile(join(folder, "server.log"), this.#editor.server.output);
    await cp(join(this.dataFolder, "data/logs"), join(folder, "logs"), { recursive: true });
    await this.page.screenshot({ path: join(folder, "screen.png") });
    return folder;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#editor[Symbol.asyncDispose]();
  }

  /** Leaves a list, then what asked before it, then what the editor shows beside its text. */
  async #escape(): Promise<void> {
    for (let count = 0; count < 3; count++) await this.page.keyboard.press("Escape");
  }

  /**
   * Goes to the workspace and waits until the window shows; extensions may still be starting.
   * @param query of VS Code's own, beside the folder.
   */
  async #open(query: Readonly<Record<string, string>> = {}): Promise<void> {
    const { server, folder } = this.#editor;
    await this.page.goto(server.address(folder, query), { waitUntil: "domcontentloaded" });
    await this.#waitForWorkbench();
  }

  async #waitForWorkbench(): Promise<void> {
    // VS Code's own status items come with the window; those of extensions come later.
    const itsOwn = this.statusBar.item("status.notifications");
    await itsOwn.waitFor({ timeout: millisecondsToOpen });
  }
}
