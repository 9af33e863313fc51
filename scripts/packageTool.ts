// `npm run package:tool`: the tool without the editor, as a package for npm.
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { makeNpmPackage } from "./build/npmPackage.ts";
import { npmCommand, withoutScriptVariables } from "./process/npm.ts";
import { projectRoot } from "./projectRoot.ts";

process.chdir(projectRoot);
const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };

const npmFolder = "dist-npm";
const packed = join(npmFolder, "package");
await mkdir(npmFolder, { recursive: true });
await makeNpmPackage("dist", packed, ".");
const [npm, ...leading] = npmCommand(process.env);
await execa(npm, [...leading, "pack", "./package", "--ignore-scripts", "--silent"], {
  cwd: npmFolder,
  env: withoutScriptVariables(process.env),
  extendEnv: false,
  stdout: "ignore",
  stderr: "inherit",
});

const file = join(npmFolder, `pipeline-runs-${version}.tgz`);
console.log(`${file} (${Math.round((await stat(file)).size / 1024)} KB)`);
