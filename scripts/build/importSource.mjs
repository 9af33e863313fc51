import { build } from "esbuild";

/** Loads a module of the product for the build. That is TypeScript, which not every Node that can build reads: it is bundled first. */
export async function importSource(source) {
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(process.cwd() + "/");',
    },
    logLevel: "warning",
  });
  const [program] = outputFiles;
  return import(`data:text/javascript;base64,${Buffer.from(program.contents).toString("base64")}`);
}
