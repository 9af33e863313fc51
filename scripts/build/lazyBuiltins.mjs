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
      const names = Object.keys(await import(path)).filter((name) => name !== "default");
      const getters = names.map((name) => `get ${name}() { return require("${path}").${name}; },`);
      return { contents: `module.exports = {\n${getters.join("\n")}\n};` };
    });
  },
};

/**
 * Makes an ES module get Node's modules by `require`, which `requireInModule` gives it: an `import` reads everything that they
 * export, and so loads what only stands behind it, such as all of `node:fs/promises` behind `node:fs`.
 */
export const requiredBuiltins = {
  name: "required-builtins",
  setup(main) {
    main.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "required" } : undefined,
    );
    main.onLoad({ filter: /./, namespace: "required" }, ({ path }) => ({
      contents: `module.exports = require("${path}");`,
    }));
  },
};

/** The first lines of such a module. Node.js before 20.16 hasn't the first way. */
export const requireInModule =
  'const require = (process.getBuiltinModule?.("node:module") ?? await import("node:module")).createRequire(import.meta.url);';
