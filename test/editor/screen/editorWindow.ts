import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import { quietSettings, settingsFile } from "../../../scripts/editor/serverFolders.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import type { ServedEditor } from "../served/servedEditor.ts";
import { Modal } from "./modal.ts";
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

/** A VS Code on a real screen, with a packaged extension in it, driven as its user drives it: by keys and clicks. */
export class EditorWindow implements AsyncDisposable {
  readonly page: Page;
  readonly quickInput: QuickInput;
  readonly statusBar: StatusBar;
  readonly notifications: Notifications;
  readonly modal: Modal;
  readonly #editor: ServedEditor;
  readonly #folder: string;
  readonly #console: string[] = [];

  /** @param other a page and a workspace of its own, for one more window of the same VS Code. */
  constructor(editor: ServedEditor, other?: { readonly page: Page; readonly folder: string }) {
    const { page, folder } = other ?? editor;
    this.page = page;
    this.quickInput = new QuickInput(page);
    this.statusBar = new StatusBar(page);
    this.notifications = new Notifications(page);
    this.modal = new Modal(page);
    this.#editor = editor;
    this.#folder = folder;
    page.setDefaultTimeout(patienceMilliseconds);
    page.on("console", (message) => this.#console.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => this.#console.push(`uncaught: ${error.stack ?? error.message}`));
  }

  /** The workspace. */
  get folder(): string {
    return this.#folder;
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
   * Goes to the workspace and waits until the window shows; extensions may still be starting.
   * @param query of VS Code's own, beside the folder.
   */
  async open(query: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.page.goto(this.#editor.server.address(this.folder, query), { waitUntil: "domcontentloaded" });
    await this.#waitForWorkbench();
  }

  /** Opens one more window of this VS Code, as the same user. It closes with the first. */
  async openAnother(folder: string): Promise<EditorWindow> {
    const window = new EditorWindow(this.#editor, { page: await this.page.context().newPage(), folder });
    await window.open();
    return window;
  }

  /** Writes the user's settings anew, beside those that keep the window quiet, in the editor itself, which misses what is written behind its back. */
  async writeSettings(settings: Readonly<Record<string, unknown>>): Promise<void> {
    const text = JSON.stringify({ ...quietSettings, ...settings });
    await this.quickInput.runCommand("Preferences: Open User Settings (JSON)");
    const line = this.page.locator(".view-line").filter({ hasText: "workbench.startupEditor" }).first();
    await line.click();
    await this.page.keyboard.press("ControlOrMeta+A");
    // Pasted: the editor closes brackets and quotes behind what is typed.
    await this.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await this.page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await this.page.keyboard.press("ControlOrMeta+V");
    await this.page.keyboard.press("ControlOrMeta+S");
    // The test's own time limit ends the wait.
    while ((await readFile(settingsFile(this.dataFolder), "utf8")) !== text) await pause(50);
    // The palette has five titles that begin with this one's.
    await this.page.keyboard.press("Control+W");
    await line.waitFor({ state: "detached" });
  }

  /** Sets the API key of the window's service from the command palette. */
  async setApiKey(key: string): Promise<void> {
    await this.quickInput.runCommand("Pipeline Runs: Set API Key…");
    await this.quickInput.waitForTitle("Set API Key");
    await this.quickInput.type(key);
    await this.quickInput.accept();
  }

  /** Leaves whatever a test that failed was at. */
  async settle(): Promise<void> {
    for (let count = 0; count < 3; count++) await this.page.keyboard.press("Escape");
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

  async #waitForWorkbench(): Promise<void> {
    // VS Code's own status items come with the window; those of extensions come later.
    const itsOwn = this.statusBar.item("status.notifications");
    await itsOwn.waitFor({ timeout: millisecondsToOpen });
  }
}
