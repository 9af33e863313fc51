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
  "lib/webp_codec.LICENSE",
];

/**
 * @param noting a plugin for its build.
 * @returns the files that were made, as esbuild names its outputs.
 */
export async function buildPlaywright(outdir, noting) {
  const { metafile } = await build({
    stdin: { contents: `export { chromium, devices } from "${name}";`, resolveDir: import.meta.dirname },
    outfile: join(outdir, program),
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node22",
    minify: true,
    legalComments: "linked",
    metafile: true,
    plugins: [noting],
    logLevel: "warning",
  });
  await mkdir(join(outdir, folder), { recursive: true });
  for (const file of files) await cp(join(packageFolder, file), join(outdir, folder, file));
  return [...Object.keys(metafile.outputs), ...files.map((file) => posix.join(outdir, folder, file))];
}

/**
 * Lets `import("playwright-core")` of our programs find it there. It stands between them and it as a program of its own,
 * which esbuild knows the way to from wherever it puts the piece that imports it.
 */
export const importPlaywright = {
  name: "import-playwright",
  setup(main) {
    main.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({
      path: name,
      namespace: "import-playwright",
    }));
    main.onResolve({ filter: /\.cjs$/, namespace: "import-playwright" }, ({ path }) => ({
      path,
      external: true,
    }));
    main.onLoad({ filter: /./, namespace: "import-playwright" }, () => ({
      contents: `export { chromium, devices } from "./${program}";`,
    }));
  },
};
