import type { Studio } from "./studio.ts";

/** What a picture shows, and how the window gets there by what its user would do. */
interface Scene {
  readonly name: string;
  /** Where its pictures go, from the project's root: those of `media` are in the package. */
  readonly folder: "media/pictures" | "docs/pictures";
  readonly prepare: (studio: Studio) => Promise<void>;
  /** What doesn't outlive the change of a theme is shown in each, and hidden again. */
  readonly show?: (studio: Studio) => Promise<void>;
  /** What is filmed; the scene's picture moves then. */
  readonly film?: (studio: Studio) => Promise<void>;
  readonly hide?: (studio: Studio) => Promise<void>;
  readonly tidy?: (studio: Studio) => Promise<void>;
}

/** In an order in which each finds what it needs: the day is used up last. */
export const scenes: readonly Scene[] = [
  {
    name: "pipeline-file",
    folder: "media/pictures",
    prepare: async (studio) => {
      await studio.showViews();
      await studio.open("unit-tests.yaml");
      await studio.start("hello");
      await studio.runs.waitForRow(/^hello.* · succeeded/);
      await studio.start("unit-tests");
      await studio.window.notifications.toast(/unit-tests failed/);
      await studio.window.quickInput.runCommand("Notifications: Clear All Notifications");
    },
  },
  {
    name: "start",
    folder: "docs/pictures",
    prepare: (studio) => studio.showViews(),
    show: async (studio) => {
      await studio.clear();
      await studio.start("deploy");
      await studio.runs.waitForRow(/^deploy.*running/);
      await studio.clear();
    },
    film: async ({ window: { page, quickInput, notifications }, runs }) => {
      await page.waitForTimeout(1000);
      await page.keyboard.press("F1");
      await page.keyboard.type("run pipeline", { delay: 60 });
      await page.waitForTimeout(800);
      await quickInput.pick("Pipeline Runs: Run Pipeline…");
      await quickInput.waitForRow("hello");
      await page.keyboard.type("hello", { delay: 60 });
      await page.waitForTimeout(800);
      await quickInput.pick("hello");
      await notifications.toast(/hello is waiting for/);
      await runs.waitForRow(/^deploy.* · succeeded/);
      await runs.waitForRow(/^hello.* · succeeded/);
      await page.waitForTimeout(1500);
    },
    tidy: (studio) => studio.clear(),
  },
  {
    name: "log",
    folder: "media/pictures",
    prepare: async (studio) => {
      await studio.clear();
      await (await studio.runs.waitForRow(/^unit-tests/)).dblclick();
      await studio.window.page.locator(".view-lines").filter({ hasText: "expected 3, got 2" }).waitFor();
    },
    tidy: (studio) => studio.clear(),
  },
  {
    name: "runs",
    folder: "media/pictures",
    prepare: async (studio) => {
      await studio.start("nightly");
      await studio.runs.waitForRow(/^nightly/);
      await (await studio.runs.waitForRow(/^nightly/)).dblclick();
      // That has unfolded it as well.
      await studio.runs.waitForRow(/^count the lamps/);
      await studio.window.page
        .locator(".view-lines")
        .filter({ hasText: "36 lamps counted" })
        .waitFor({ timeout: 60_000 });
    },
  },
  {
    name: "wait",
    folder: "media/pictures",
    prepare: async (studio) => {
      await studio.start("hello");
      await studio.window.notifications.toast(/hello is waiting for/);
    },
  },
  {
    name: "refusal-slot",
    folder: "docs/pictures",
    prepare: async (studio) => {
      await studio.window.notifications.toast(/hello was not started.*did not become free/, 150_000);
    },
    // The toast goes by itself; the centre keeps it.
    show: async ({ window }) => {
      await window.notifications.inCentre(/hello was not started.*did not become free/);
    },
    hide: ({ window }) => window.quickInput.runCommand("Notifications: Hide Notifications"),
    tidy: (studio) => studio.cancelAll(),
  },
  {
    name: "keys",
    folder: "media/pictures",
    prepare: (studio) => studio.clear(),
    show: async ({ window }) => {
      await window.quickInput.runCommand("Pipeline Runs: Choose API Key…");
      await window.quickInput.waitForTitle(/Choose API Key/);
      await window.quickInput.waitForRow("Add API Key…");
    },
    hide: ({ window }) => window.quickInput.dismiss(),
  },
  {
    name: "refusal-day",
    folder: "media/pictures",
    prepare: async (studio) => {
      await studio.useUpTheDay();
      await studio.start("hello");
      await studio.window.notifications.toast(/hello was not started.*used up/);
    },
  },
];
