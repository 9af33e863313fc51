import type { ElementHandle, Frame, Page } from "playwright-core";
import type { TextExpectation } from "../../pipeline/file/values.ts";
import type { ElementTarget, FrameTarget } from "../../pipeline/types/browserStep.ts";
import { searchFor } from "../output/textSearch.ts";
import { isNavigating } from "./deadline.ts";

/** The frames that an element may be in: the page's own, or all that fit its `frame`, at any depth. */
export async function framesOf(page: Page, { frame }: ElementTarget): Promise<readonly Frame[]> {
  if (frame === undefined) return [page.mainFrame()];
  return (await Promise.all(page.frames().map((parent) => framesIn(parent, frame)))).flat();
}

/** The titles and names of all frames of a page. */
export async function frameNames(page: Page): Promise<readonly string[]> {
  const elements = await Promise.all(
    page.frames().map((parent) => parent.locator("css=iframe, frame").elementHandles()),
  );
  return Promise.all(
    elements
      .flat()
      .map(
        async (element) =>
          (await element.getAttribute("title")) ?? (await element.getAttribute("name")) ?? "",
      ),
  );
}

async function framesIn(parent: Frame, wanted: FrameTarget): Promise<readonly Frame[]> {
  try {
    const elements = await parent.locator(`css=${wanted.css ?? "iframe, frame"}`).elementHandles();
    const found = await Promise.all(
      elements.map(async (element) => ((await isWanted(element, wanted)) ? element.contentFrame() : null)),
    );
    return found.filter((frame) => frame !== null);
  } catch (error) {
    // Another frame may be the one that is wanted.
    if (isNavigating(error)) return [];
    throw error;
  }
}

async function isWanted(element: ElementHandle, { title, name, testId }: FrameTarget): Promise<boolean> {
  const has = async (attribute: string, expected: TextExpectation | undefined) => {
    const value = expected && (await element.getAttribute(attribute));
    return expected === undefined || (typeof value === "string" && searchFor(expected)(value));
  };
  return (
    (await has("title", title)) &&
    (await has("name", name)) &&
    (testId === undefined || (await element.getAttribute("data-testid")) === testId)
  );
}
