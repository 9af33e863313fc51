import { type Browser, chromium } from "playwright-core";
import { ensureChromium } from "../../../scripts/chromium.ts";
import { sayToStandardError } from "../../../scripts/say.ts";

/** Launches the machine's own browser without a window, silent towards the network. It ends with this process. */
export async function launchBrowser(signal: AbortSignal): Promise<Browser> {
  return chromium.launch({
    executablePath: await ensureChromium(sayToStandardError, signal),
    args: [
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-gpu",
      "--disable-quic",
      "--disable-sync",
      "--no-first-run",
    ],
  });
}
