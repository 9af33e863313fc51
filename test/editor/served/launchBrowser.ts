import { type Browser, type BrowserServer, chromium, type LaunchOptions } from "playwright-core";
import { ensureChromium } from "../../../scripts/chromium.ts";
import { sayToStandardError } from "../../../scripts/say.ts";

/**
 * What a browser without a window draws for nobody: the page that drops from its address line, made anew for every tab, and
 * a process in advance for the next site. They take half of the time of a tab.
 */
const unseen = ["SpareRendererForSitePerProcess", "WebUIOmniboxAimPopup", "WebUIOmniboxPopup"];

/** Playwright's own list for what is tested here, which a list of ours replaces: requests stay as they are, none is sent unasked. */
const unwanted = [
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];

/** In the environment of tests: where the browser is that is there for all of them. */
export const browserVariable = "PIPELINE_RUNS_TEST_BROWSER";

/** The machine's own browser without a window, silent towards the network, for the tests of several processes. */
export async function sharedBrowser(signal: AbortSignal): Promise<BrowserServer> {
  return chromium.launchServer({ ...(await options(signal)), host: "127.0.0.1" });
}

/** The browser that is there for all tests, as one that nobody else uses; or one that ends with this process. */
export async function launchBrowser(signal: AbortSignal): Promise<Browser> {
  const endpoint = process.env[browserVariable];
  return endpoint === undefined ? chromium.launch(await options(signal)) : chromium.connect(endpoint);
}

async function options(signal: AbortSignal): Promise<LaunchOptions> {
  return {
    executablePath: await ensureChromium(sayToStandardError, signal),
    args: [
      "--disable-background-networking",
      "--disable-component-update",
      `--disable-features=${[...unseen, ...unwanted].join(",")}`,
      "--disable-gpu",
      "--disable-quic",
      "--disable-sync",
      "--no-first-run",
    ],
  };
}
