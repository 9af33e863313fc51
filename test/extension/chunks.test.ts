import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Metafile } from "esbuild";

const root = join(import.meta.dirname, "../..");

/** The extension as it is built, with what each of its chunks is made of. */
async function builtParts(): Promise<Metafile["outputs"]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { extension: "src/extension/extension.ts" },
    outdir: "dist",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    minify: true,
    external: ["vscode"],
    metafile: true,
    write: false,
    logLevel: "error",
  });
  return metafile.outputs;
}

/** All that a module brings with it as soon as it is loaded: itself, and what it imports at once. */
function atOnce(
  outputs: Metafile["outputs"],
  first: string,
): { readonly inputs: string[]; readonly bytes: number } {
  const seen = new Set<string>();
  const look = (path: string): void => {
    const output = outputs[path];
    if (output === undefined || seen.has(path)) return;
    seen.add(path);
    for (const { path: other, kind } of output.imports) if (kind === "import-statement") look(other);
  };
  look(first);
  const found = [...seen].flatMap((path) => outputs[path] ?? []);
  return {
    inputs: found.flatMap(({ inputs }) => Object.keys(inputs)),
    bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

describe("what a window of the editor loads", () => {
  let outputs: Metafile["outputs"];
  before(async function () {
    this.timeout(60_000);
    outputs = await builtParts();
  });

  const entryOf = (source: string) => {
    const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === source);
    assert(found !== undefined, source);
    return atOnce(outputs, found[0]);
  };
  const packagesOf = (inputs: readonly string[]) => [
    ...new Set(inputs.flatMap((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? [])),
  ];

  it("is a module of a few kilobytes without any package, where nothing is wanted", () => {
    const { inputs, bytes } = entryOf("src/extension/extension.ts");
    assert.deepEqual(packagesOf(inputs), []);
    assert.deepEqual(
      inputs.filter((input) => /^src\/(?:client\/(?!clock\.ts)|pipeline\/|service\/)/.test(input)),
      [],
    );
    assert(bytes < 12 * 1024, `${bytes} bytes`);
  });

  it("is neither the parser of pipeline files nor a view, a log or a command, for a live status bar", () => {
    const { inputs, bytes } = entryOf("src/extension/parts.ts");
    assert.deepEqual(packagesOf(inputs).sort(), allowed);
    const unwanted = /^src\/(?:service|cli|pipeline)\/|^src\/extension\/(?:log|tasks|files|commands)\//;
    assert.deepEqual(
      inputs.filter((input) => unwanted.test(input) && !/\/(?:duration|tookText)\.ts$/.test(input)),
      [],
    );
    assert(bytes < 200 * 1024, `${bytes} bytes`);
  });

  it("is never the service, nor what only the terminal's tool needs", () => {
    for (const { inputs } of Object.values(outputs)) {
      const unwanted =
        /^src\/(?:service|cli)\/|node_modules\/(?:undici|commander|execa|kysely|hono|pg|playwright-core)\//;
      assert.deepEqual(
        Object.keys(inputs).filter((input) => unwanted.test(input)),
        [],
      );
    }
  });

  it("is in the package as it was measured: the built extension has no other entry", () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    assert.equal(manifest.main, "./dist/extension.js");
  });
});

const allowed = ["@vscode/l10n", "env-paths", "eventsource-parser", "is-safe-filename", "zod"];
