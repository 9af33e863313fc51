import { relative, resolve } from "node:path";
import { importSource } from "./importSource.mjs";

/** The modules of schemas that the core of the tool reads answers by. They export nothing else that it uses. */
export const shapedFiles = [
  "src/client/embedded/connection.ts",
  "src/contract/health.ts",
  "src/contract/org.ts",
  "src/contract/run.ts",
];

/**
 * Puts data that takes no time to make (see `shapedSchema`) into the place of the schemas of these modules, which go to another
 * program. A schema that no shape is like keeps its place there alone.
 */
export function shapedSchemas(elsewhere) {
  return {
    name: "shaped-schemas",
    setup(main) {
      main.onResolve({ filter: /\.cjs$/ }, ({ path }) =>
        path === `./${elsewhere}` ? { path, external: true } : undefined,
      );
      main.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const file = relative(".", path).replaceAll("\\", "/");
        return shapedFiles.includes(file)
          ? { contents: await shapedModule(file, elsewhere), loader: "js" }
          : undefined;
      });
    },
  };
}

async function shapedModule(file, elsewhere) {
  const [{ shapeOf }, schemas] = await Promise.all([
    importSource("scripts/build/shapeOf.ts"),
    importSource(file),
  ]);
  const patterns = [];
  const shapes = Object.entries(schemas).flatMap(([name, schema]) => {
    const shape = schema._zod === undefined ? undefined : attempted(() => shapeOf(schema));
    return shape === undefined
      ? []
      : `export const ${name} = shapedSchema(${source(shape, patterns)}, () => require("./${elsewhere}").modules[${JSON.stringify(file)}].${name});`;
  });
  return [
    `import { shapedSchema } from ${JSON.stringify(resolve("src/contract/shapedSchema.ts"))};`,
    ...patterns.map((pattern, at) => `const p${at} = ${pattern};`),
    ...shapes,
  ].join("\n");
}

/** One that no shape is like can't be asked for: esbuild says so where it is. */
function attempted(make) {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** A shape as JavaScript. @param patterns gets each pattern once. */
function source(value, patterns) {
  if (value instanceof RegExp) {
    const known = patterns.findIndex((pattern) => String(pattern) === String(value));
    return `p${known < 0 ? patterns.push(value) - 1 : known}`;
  }
  if (Array.isArray(value)) return `[${value.map((part) => source(part, patterns)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, part]) => `${name}: ${source(part, patterns)}`)
    .join(", ")} }`;
}
