import { type Browser, chromium } from "playwright-core";
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

/** Launches the machine's own browser without a window, silent towards the network. It ends with this process. */
export async function launchBrowser(signal: AbortSignal): Promise<Browser> {
  return chromium.launch({
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
  });
}
