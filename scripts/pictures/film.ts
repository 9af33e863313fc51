import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { execa } from "execa";
import type { Page } from "playwright-core";
import { TemporaryFolder } from "../../test/temporaryFolder.ts";

interface Frame {
  readonly png: Buffer;
  /** When the window looked so first, in milliseconds of an arbitrary clock. */
  readonly at: number;
}

/** Nobody wants to watch a window that stands still for longer, in milliseconds. */
const longestStill = 1200;
/** How long the last frame is shown before the film begins anew, in milliseconds. */
const ending = 3000;

/** Films the window while something is done in it. @returns an animated PNG, made by `apngasm`. */
export async function filmed(page: Page, act: () => Promise<void>): Promise<Buffer> {
  const frames: Frame[] = [];
  let isOver = false;
  const filming = (async () => {
    while (!isOver) {
      const at = performance.now();
      const png = await page.screenshot();
      if (frames.at(-1)?.png.equals(png) !== true) frames.push({ png, at });
      await pause(100);
    }
  })();
  await act().finally(() => {
    isOver = true;
  });
  await filming;
  await using folder = await TemporaryFolder.make("pipeline-runs-film");
  const nameOf = (index: number) => join(folder.path, `frame${String(index + 1).padStart(3, "0")}`);
  for (const [index, { png, at }] of frames.entries()) {
    const next = frames[index + 1]?.at;
    const shown = next === undefined ? ending : Math.min(next - at, longestStill);
    await writeFile(`${nameOf(index)}.png`, png);
    await writeFile(`${nameOf(index)}.txt`, `delay=${Math.round(shown)}/1000\n`);
  }
  const film = join(folder.path, "film.png");
  await execa`apngasm ${[film, `${nameOf(0)}.png`]}`;
  return readFile(film);
}
