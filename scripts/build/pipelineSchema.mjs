import { writeFile } from "node:fs/promises";
import { posix } from "node:path";
import { build } from "esbuild";

/**
 * Writes the JSON Schema of pipeline files, for editors, from the definition that the parser checks by. That is
 * TypeScript, which not every Node that can build reads: it is bundled first.
 * @returns the files that were made.
 */
export async function buildPipelineSchema(outdir) {
  const { outputFiles } = await build({
    entryPoints: ["src/pipeline/pipelineFile.ts"],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    logLevel: "warning",
  });
  const [program] = outputFiles;
  const url = `data:text/javascript;base64,${Buffer.from(program.contents).toString("base64")}`;
  const { pipelineJsonSchema } = await import(url);
  const file = posix.join(outdir, "pipeline.schema.json");
  await writeFile(file, `${JSON.stringify(pipelineJsonSchema(), undefined, 2)}\n`);
  return [file];
}
