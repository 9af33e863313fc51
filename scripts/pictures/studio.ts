import type { EditorWindow } from "../../test/editor/screen/editorWindow.ts";
import { TreeView } from "../../test/editor/screen/treeView.ts";
import { fillDay } from "../../test/service/fillDay.ts";

const run = "Pipeline Runs: Run Pipeline…";
const quota = "pipeline-runs.pipeline-runs.quota";

/** A look of the editor: its name in a picture's file, the theme's label, and how the window tells that it has it. */
interface Theme {
  readonly name: "dark" | "light" | "contrast";
  readonly label: string;
  readonly marker: string;
}

export const themes: readonly Theme[] = [
  { name: "dark", label: "Dark 2026", marker: "vs-dark" },
  { name: "light", label: "Light 2026", marker: "vs" },
  { name: "contrast", label: "Dark High Contrast", marker: "hc-black" },
];

/** A README is read in these only. */
export const themesOfFilms = themes.filter(({ name }) => name !== "contrast");

/** A window that scenes are set in, by what its user would do. */
export class Studio {
  readonly window: EditorWindow;
  readonly runs: TreeView;
  readonly #dataFolder: string;

  constructor(window: EditorWindow, dataFolder: string) {
    this.window = window;
    this.runs = new TreeView(window.page, "Runs");
    this.#dataFolder = dataFolder;
  }

  /** Changes the window's theme, and waits until it looks so. */
  async turnTo({ label, marker }: Theme): Promise<void> {
    const { page, quickInput } = this.window;
    // A window that has just opened may not have found its themes yet.
    await page.locator('.monaco-workbench[class*="theme-defaults"]').waitFor({ timeout: 120_000 });
    await quickInput.runCommand("Preferences: Color Theme");
    await quickInput.type(label);
    await quickInput.pick(label);
    await page.locator(`.monaco-workbench.${marker}[class*="theme-defaults"]`).waitFor();
    // The last colours come a moment after the first, and nothing tells that they have.
    await page.waitForTimeout(1500);
  }

  /** Starts a pipeline from the palette. */
  async start(pipeline: string): Promise<void> {
    await this.window.quickInput.runCommand(run);
    await this.window.quickInput.type(pipeline);
    await this.window.quickInput.pick(pipeline);
  }

  async cancelAll(): Promise<void> {
    await this.window.quickInput.runCommand("Pipeline Runs: Cancel My Runs");
    await this.window.statusBar.waitForText(quota, /^[^·]*used today\s*$/);
    await this.clear();
  }

  /** Takes notifications and editors away. */
  async clear(): Promise<void> {
    await this.window.quickInput.runCommand("Notifications: Clear All Notifications");
    await this.window.page.keyboard.press("Control+K");
    await this.window.page.keyboard.press("Control+W");
  }

  /** Shows the views. */
  async showViews(): Promise<void> {
    const icon = this.window.page.locator('.activitybar .action-label[aria-label^="Pipelines"]');
    if (!(await this.runs.pane.isVisible())) await icon.click();
    await this.runs.pane.waitFor();
  }

  /** Opens a file of the workspace by its name. */
  async open(name: string): Promise<void> {
    await this.window.page.keyboard.press("Control+P");
    await this.window.quickInput.type(name);
    await this.window.quickInput.pick(name);
  }

  /** Fills the day with runs that were, until it is used up. */
  async useUpTheDay(): Promise<void> {
    const text = await this.window.statusBar.waitForText(quota, /\d+ of \d+ runs used today/);
    const [, used = "", all = ""] = /(\d+) of (\d+)/.exec(text) ?? [];
    await fillDay(this.#dataFolder, Number(all) - Number(used));
  }
}
