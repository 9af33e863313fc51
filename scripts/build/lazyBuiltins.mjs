// What a program imports of Node itself is loaded by Node before the program begins. Both of these put that off.

/** Those of Node's modules that it hasn't loaded by itself before any program, and that not every call of the tool needs. */
const lazy = ["child_process", "crypto", "fs/promises", "http", "https", "net", "os", "tls", "zlib"];

/** Makes a CommonJS program load such a module when it first uses something of it. */
export const lazyBuiltins = {
  name: "lazy-builtins",
  setup(main) {
    main.onResolve({ filter: new RegExp(`^node:(${lazy.join("|")})$`) }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "lazy" } : undefined,
    );
    main.onLoad({ filter: /./, namespace: "lazy" }, async ({ path }) => {
      const getters = (await exportsOf(path)).map(
        (name) => `get ${name}() { return require("${path}").${name}; },`,
      );
      return { contents: `module.exports = {\n${getters.join("\n")}\n};` };
    });
  },
};

/**
 * Makes a program read of Node's other modules only what it uses, by the function of that name. What esbuild makes of such an import
 * copies all that the module exports, for each file that imports it.
 */
export function usedOfBuiltins(load) {
  return {
    name: "used-of-builtins",
    setup(main) {
      main.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
        kind === "import-statement" ? { path, namespace: "used" } : undefined,
      );
      main.onLoad({ filter: /./, namespace: "used" }, async ({ path }) => ({
        contents: (await exportsOf(path))
          .map((name) => `export const ${name} = /* @__PURE__ */ exportOf(${JSON.stringify(name)});`)
          .concat(
            `export default /* @__PURE__ */ ${load}("${path}");`,
            `function exportOf(name) { return ${load}("${path}")[name]; }`,
          )
          .join("\n"),
      }));
    },
  };
}

async function exportsOf(path) {
  return Object.keys(await import(path)).filter((name) => name !== "default");
}
