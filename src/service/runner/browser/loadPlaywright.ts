import type { BrowserType } from "playwright-core";

/**
 * What drives the browser: some megabytes that only a browser step loads. The build puts them beside the runner's
 * program and this import points there (esbuild.mjs).
 */
export async function loadPlaywright(): Promise<BrowserType> {
  const { chromium } = await import("playwright-core");
  return chromium;
}
