import { writeFile } from "node:fs/promises";
import { posix } from "node:path";

/** Writes the JSON Schema of the pipeline file, for editors. @returns the files that were made. */
export function buildPipelineSchema(outdir) {
  const source = "../../src/pipeline/pipelineFile.ts";
  return buildJsonSchema(outdir, { source, name: "pipelineJsonSchema", file: "pipeline.schema.json" });
}

/** Writes the JSON Schema of what the tool prints with `--json`, for scripts. @returns the files that were made. */
export function buildOutputsSchema(outdir) {
  const source = "./outputsSchema.ts";
  return buildJsonSchema(outdir, { source, name: "outputsJsonSchema", file: "tool-output.schema.json" });
}

/** Writes a JSON Schema from the definition that the product itself checks by. */
async function buildJsonSchema(outdir, { source, name, file }) {
  const { [name]: schema } = await import(source);
  const path = posix.join(outdir, file);
  await writeFile(path, `${JSON.stringify(schema(), undefined, 2)}\n`);
  return [path];
}
