// `npm run release`: what a release consists of, in the folder `release`. It needs no network.
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { releaseNotes } from "./build/releaseNotes.ts";
import { Problem } from "./problem.ts";
import { runNpmScript } from "./process/npm.ts";
import { stopSignal } from "./process/stopSignal.ts";
import { projectRoot } from "./projectRoot.ts";

process.chdir(projectRoot);
const folder = "release";
try {
  await release();
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function release(): Promise<void> {
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  const { title, notes } = releaseNotes(await readFile("CHANGELOG.md", "utf8"));
  const signal = stopSignal();
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await runNpmScript("package", signal);
  await runNpmScript("package:tool", signal);
  const files = [`pipeline-runs-${version}.vsix`, `pipeline-runs-${version}.tgz`, "NOTES.md"];
  await cp("pipeline-runs.vsix", join(folder, `pipeline-runs-${version}.vsix`));
  await cp(join("dist-npm", `pipeline-runs-${version}.tgz`), join(folder, `pipeline-runs-${version}.tgz`));
  await writeFile(join(folder, "NOTES.md"), `# Pipeline Runs ${version}\n\n${notes}\n`);
  const sums = files.map(async (file) => {
    const sum = createHash("sha256")
      .update(await readFile(join(folder, file)))
      .digest("hex");
    // Two spaces, as `sha256sum --check` reads it.
    return `${sum}  ${basename(file)}\n`;
  });
  await writeFile(join(folder, "SHA256SUMS"), (await Promise.all(sums)).join(""));
  for (const file of [...files, "SHA256SUMS"]) console.log(join(folder, file));
  if (title === version) return;
  console.error(
    `The notes are those of "${title}", the first part of CHANGELOG.md, and the version is ${version}.`,
  );
}
