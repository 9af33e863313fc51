import type { Page } from "playwright-core";

/** What a person's Escape does: the page stays as it is, and an address that was asked for isn't waited for any more. */
export async function stopLoading(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send("Page.stopLoading");
  } finally {
    await session.detach();
  }
}
