import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** The words of the package of npm, where they aren't the extension's. */
const description =
  "Start, follow and cancel pipeline runs from a terminal, on a service of this machine or in the cloud.";

/**
 * Puts together the folder that npm packs: the command `pipeline` with all that it starts, and nothing of the editor's. It
 * depends on nothing and runs nothing when it is installed.
 *
 * @param outdir the folder of the built programs.
 * @param root the repository.
 */
export async function makeNpmPackage(outdir: string, folder: string, root: string): Promise<void> {
  const { name, version, license, keywords, engines } = JSON.parse(
    await readFile(join(root, "package.json"), "utf8"),
  );
  const manifest = {
    name,
    version,
    description,
    license,
    keywords: [...keywords, "cli"],
    type: "module",
    engines: { node: engines.node },
    bin: { pipeline: "dist/cli.js" },
  };
  await rm(folder, { recursive: true, force: true });
  const isOfEditor = (file: string) => /^extension(?:\.|$)/.test(relative(outdir, file));
  await cp(outdir, join(folder, "dist"), { recursive: true, filter: (file) => !isOfEditor(file) });
  for (const file of ["LICENSE", "CHANGELOG.md"]) await cp(join(root, file), join(folder, file));
  await cp(join(root, "scripts/build/npm/README.md"), join(folder, "README.md"));
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
}
