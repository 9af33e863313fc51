import { readFile } from "node:fs/promises";
import { relative } from "node:path";

// What a program imports of Node itself costs it time before it begins. Both of these save a part of that.

/** Those of Node's modules that it hasn't loaded by itself before any program, and that not every call of the tool needs. */
const lazy = ["child_process", "crypto", "fs/promises", "http", "https", "net", "os", "tls", "zlib"];

/**
 * Makes a program load such a module when it first uses something of it.
 * @param load the function, in the program, that loads one.
 */
export function lazyBuiltins(load) {
  return {
    name: "lazy-builtins",
    setup(main) {
      // A module for each file that imports it: with what that one uses, since each name takes its time at every start.
      main.onResolve({ filter: new RegExp(`^node:(${lazy.join("|")})$`) }, ({ path, kind, importer }) =>
        kind === "import-statement"
          ? { path, namespace: "lazy", suffix: `?${relative(".", importer)}`, pluginData: { importer } }
          : undefined,
      );
      main.onLoad({ filter: /./, namespace: "lazy" }, async ({ path, pluginData: { importer } }) => {
        const names = (await namesImported(importer, path)) ?? (await exportsOf(path));
        const getters = names.map((name) => `get ${name}() { return whole().${name}; },`);
        return {
          contents: `const whole = () => ${load}("${path}"); module.exports = {\n${getters.join("\n")}\n};`,
        };
      });
    },
  };
}

/**
 * Makes a program read of Node's other modules only what it uses. What esbuild makes of such an import copies all that the module
 * exports, for each file that imports it.
 * @param load the function, in the program, that loads one.
 */
export function usedOfBuiltins(load) {
  return {
    name: "used-of-builtins",
    setup(main) {
      main.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
        kind === "import-statement" ? { path, namespace: "used" } : undefined,
      );
      main.onLoad({ filter: /./, namespace: "used" }, async ({ path }) => ({
        contents: [`const whole = /* @__PURE__ */ ${load}("${path}");`]
          .concat(
            (await exportsOf(path)).map(
              (name) => `export const ${name} = /* @__PURE__ */ exportOf("${name}");`,
            ),
          )
          .concat("export default whole;", "function exportOf(name) { return whole[name]; }")
          .join("\n"),
      }));
    },
  };
}

/** Makes a program begin a package when it first calls its main function, which is all that the program uses of it. */
export function lazyPackage(name) {
  return {
    name: `lazy-${name}`,
    setup(main) {
      main.onResolve({ filter: new RegExp(`^${name}$`) }, ({ path, kind }) =>
        kind === "import-statement" ? { path, namespace: name } : undefined,
      );
      main.onLoad({ filter: /./, namespace: name }, ({ path }) => ({
        contents: `let called; export default (...given) => (called ??= require("${path}").default)(...given);`,
        resolveDir: ".",
      }));
    },
  };
}

/** The names of a module that a file imports. @returns undefined where that isn't plainly a list of names. */
async function namesImported(file, module) {
  const text = await readFile(file, "utf8");
  const imports = [...text.matchAll(/^import\s([^;"']*)from\s*["']([^"']*)["']/gm)].filter(
    ([, , from]) => from === module,
  );
  const lists = imports.map(([, what]) => /^\{([^{}]*)\}\s*$/.exec(what)?.[1]);
  if (lists.length === 0 || lists.includes(undefined)) return undefined;
  return lists
    .flatMap((list) => list.split(","))
    .map((part) => part.trim().split(/\s+as\s+/)[0])
    .filter((name) => name !== "" && !name.startsWith("type "));
}

async function exportsOf(path) {
  return Object.keys(await import(path)).filter((name) => name !== "default");
}
