import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BuildOptions, Metafile, Plugin } from "esbuild";

const root = join(import.meta.dirname, "../..");

/** The extension as it is built, with what each of its files is made of. */
async function builtParts(): Promise<Metafile["outputs"]> {
  const { buildExtension }: ExtensionBuild = await import(
    pathToFileURL(join(root, "scripts/build/extension.mjs")).href
  );
  const options: BuildOptions = { target: "node22", minify: true, logLevel: "error" };
  return buildExtension({
    outdir: "dist",
    options,
    moduleOptions: {
      ...options,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      metafile: true,
    },
    noting: { name: "nothing", setup: () => {} },
    write: false,
  });
}

/** The part of the build, which is JavaScript. */
interface ExtensionBuild {
  readonly buildExtension: (how: {
    readonly outdir: string;
    readonly options: BuildOptions;
    readonly moduleOptions: BuildOptions;
    readonly noting: Plugin;
    readonly write: boolean;
  }) => Promise<Metafile["outputs"]>;
}

/** All that a module brings with it as soon as it is loaded: itself, and what it imports at once. */
function atOnce(
  outputs: Metafile["outputs"],
  first: string,
): { readonly inputs: string[]; readonly bytes: number; readonly files: number } {
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
    files: found.length,
    inputs: found.flatMap(({ inputs }) => Object.keys(inputs)),
    bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

describe("what a window of the editor loads", () => {
  let outputs: Metafile["outputs"];
  before(async () => {
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

  it("is one file of a few kilobytes without any package, where nothing is wanted", () => {
    const { inputs, bytes } = entryOf("src/extension/extension.ts");
    assert.deepEqual(packagesOf(inputs), []);
    assert.deepEqual(
      inputs.filter((input) => /^src\/(?:client\/(?!clock\.ts)|pipeline\/|service\/)/.test(input)),
      [],
    );
    assert(bytes < 12 * 1024, `${bytes} bytes`);
  });

  it("is there twice only where that makes no difference: nothing that has a state or a class to ask for", () => {
    const entry = new Set(entryOf("src/extension/extension.ts").inputs);
    const others = Object.entries(outputs).filter(([path]) => path !== "dist/extension.cjs");
    const twice = others.flatMap(([, { inputs }]) =>
      Object.entries(inputs).flatMap(([input, { bytesInOutput }]) =>
        bytesInOutput > 0 && entry.has(input) ? [input] : [],
      ),
    );
    assert.deepEqual([...new Set(twice)].sort(), allowedTwice);
    for (const input of allowedTwice) {
      const text = readFileSync(join(root, input), "utf8");
      assert.doesNotMatch(
        text,
        /^(?:export )?(?:class|let)\b|^(?:export )?const \w+ = new (?!RegExp)/m,
        input,
      );
    }
  });

  it("is neither the parser of pipeline files nor a view, a log or a command, for a live status bar", () => {
    const { inputs, bytes } = entryOf("src/extension/compose.ts");
    assert.deepEqual(packagesOf(inputs).sort(), allowed);
    const unwanted = /^src\/(?:service|cli|pipeline)\/|^src\/extension\/(?:log|tasks|files|commands)\//;
    assert.deepEqual(
      inputs.filter((input) => unwanted.test(input) && !/\/(?:duration|tookText)\.ts$/.test(input)),
      [],
    );
    assert(bytes < 200 * 1024, `${bytes} bytes`);
  });

  it("is a handful of files for a live status bar, and not one for each pair of what comes later", () => {
    const { files } = entryOf("src/extension/compose.ts");
    assert(files <= 7, `${files} files`);
  });

  it("is never the service, and of the tool only how a task runs a pipeline in its terminal", () => {
    for (const { inputs } of Object.values(outputs)) {
      const unwanted =
        /^src\/(?:service\/|cli\/(?!(?:run|output|terminal)\/))|node_modules\/(?:undici|commander|execa|kysely|hono|pg|playwright-core)\//;
      assert.deepEqual(
        Object.keys(inputs).filter((input) => unwanted.test(input)),
        [],
      );
    }
  });

  it("is in the package as it was measured: the built extension has no other entry", () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    assert.equal(manifest.main, "./dist/extension.cjs");
  });
});

const allowed = ["@vscode/l10n", "eventsource-parser", "zod"];

/** Names and pure functions. What the others need of the entry's own objects is handed to them. */
const allowedTwice = [
  "src/extension/log/runUri.ts",
  "src/extension/window/storedState.ts",
  "src/text/controlCharacters.ts",
];
