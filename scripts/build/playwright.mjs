import { cp, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { build } from "esbuild";

// What drives the browser of a browser step. It stands apart from the programs' own chunks: it runs pieces of itself
// inside pages, which don't know the helper functions that `keepNames` puts into them, and it reads files by their place
// beside it. Of its package only what runs a browser goes along: no trace viewer, no recorder, no report.
const name = "playwright-core";
const folder = `vendor/${name}`;
const program = `${folder}/lib/playwright.cjs`;
const packageFolder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));

/** What it reads when it is loaded, and its licences. */
const files = [
  "package.json",
  "browsers.json",
  "LICENSE",
  "NOTICE",
  "ThirdPartyNotices.txt",
  "lib/utilsBundle.js.LICENSE",
];

/** @returns the files that were made, as esbuild names its outputs. */
export async function buildPlaywright(outdir) {
  const { metafile } = await build({
    stdin: { contents: `export { chromium } from "${name}";`, resolveDir: import.meta.dirname },
    outfile: join(outdir, program),
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node22",
    minify: true,
    legalComments: "linked",
    metafile: true,
    logLevel: "warning",
  });
  await mkdir(join(outdir, folder), { recursive: true });
  for (const file of files) await cp(join(packageFolder, file), join(outdir, folder, file));
  return [...Object.keys(metafile.outputs), ...files.map((file) => posix.join(outdir, folder, file))];
}

/** Lets `import("playwright-core")` of our programs find it there. */
export const importPlaywright = {
  name: "import-playwright",
  setup(main) {
    main.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: `./${program}`, external: true }));
    main.onEnd(({ metafile }) => {
      const { outdir } = main.initialOptions;
      const lost = Object.entries(metafile?.outputs ?? {}).filter(
        ([output, { imports }]) =>
          imports.some(({ path }) => path === `./${program}`) && posix.dirname(output) !== outdir,
      );
      // The path is written as it is, so it is right only in a file that lies in `outdir` itself.
      return { errors: lost.map(([output]) => ({ text: `${output} would not find ${program}` })) };
    });
  },
};
