// `npm run pictures`: takes the README's and the walkthrough's pictures afresh, of the real thing: the packaged extension in
// a VS Code that is served to a browser. `-- pipeline-file log` takes these scenes only. It needs `pngquant`, `zopflipng`,
// `apngasm` and some four minutes, two of which are the wait.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { EditorWindow } from "../test/editor/screen/editorWindow.ts";
import { endProcessesOf } from "../test/endProcessesOf.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import { filmed } from "./pictures/film.ts";
import { scenes } from "./pictures/scenes.ts";
import { Studio, themes, themesOfFilms } from "./pictures/studio.ts";
import { lampShop } from "./pictures/workspace.ts";
import { runNpmScript } from "./process/npm.ts";
import { stopSignal } from "./process/stopSignal.ts";
import { projectRoot } from "./projectRoot.ts";

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !scenes.some((scene) => scene.name === name));
if (unknown.length > 0) {
  console.error(
    `There is no scene ${unknown.join(", ")}. There are: ${scenes.map(({ name }) => name).join(", ")}.`,
  );
  process.exit(2);
}

const signal = stopSignal();
await execa`pngquant --version`;
await execa`which zopflipng apngasm`;
await runNpmScript("package", signal);
await using workspace = await lampShop();
await using data = await TemporaryFolder.make("pipeline-runs-pictures");
await using _working = { [Symbol.asyncDispose]: () => endProcessesOf(data.path) };
await using window = await EditorWindow.start(
  {
    folder: workspace.folder,
    builtinExtensions: true,
    env: { PIPELINE_DATA_DIR: data.path },
    settings: { "workbench.tips.enabled": false, "workbench.layoutControl.enabled": false },
  },
  signal,
);
const studio = new Studio(window, data.path);
const taken = new Map<string, () => Promise<Uint8Array>>();
for (const { name, folder, prepare, show, hide, film, tidy } of scenes) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  await prepare(studio);
  await mkdir(join(projectRoot, folder), { recursive: true });
  for (const theme of film === undefined ? themes : themesOfFilms) {
    await studio.turnTo(theme);
    await show?.(studio);
    // The mouse points at nothing, and what was opened has faded in.
    await window.page.mouse.move(640, 640);
    await window.page.waitForTimeout(1000);
    const file = join(folder, `${name}-${theme.name}.png`);
    if (film === undefined) {
      const png = await window.page.screenshot();
      taken.set(file, () => inFewColours(png));
    } else {
      const png = await filmed(window.page, () => film(studio));
      taken.set(file, async () => png);
    }
    await hide?.(studio);
  }
  await tidy?.(studio);
}
// Packed once all are taken: it takes half a minute each, in which a notification would come and go.
for (const [file, packed] of taken) {
  const png = await packed();
  await writeFile(join(projectRoot, file), png);
  console.log(`${file}  ${Math.round(png.length / 1024)} KB`);
}

/** At most 128 colours are what a picture of a window needs, and a quarter of its size; packed as well as can be. */
async function inFewColours(input: Buffer): Promise<Uint8Array> {
  const { stdout } = await execa({ input, encoding: "buffer" })`pngquant --strip --speed 1 128 -`;
  await using folder = await TemporaryFolder.make("pipeline-runs-picture");
  const file = join(folder.path, "picture.png");
  await writeFile(file, stdout);
  await execa`zopflipng -y ${file} ${file}`;
  return readFile(file);
}
