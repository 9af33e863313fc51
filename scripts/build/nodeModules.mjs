/**
 * Loads of Node's modules what a program uses, when it uses it. An `import` of one by an ES module reads at once all that it exports,
 * and `node:http` alone has the whole of Node's undici among that: 50 ms of every start.
 */
export const lazyNodeModules = {
  name: "lazy-node-modules",
  setup(main) {
    main.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === "import-statement" && !whole.has(path) ? { path, namespace: "lazy" } : undefined,
    );
    main.onLoad({ filter: /./, namespace: "lazy" }, async ({ path }) => ({
      contents: inParts.has(path) ? await used(path) : lazy(path),
    }));
  },
};

/** Node has loaded them by itself before any program, with all that they export. */
const whole = new Set(["node:events", "node:module", "node:path", "node:url"]);
/** Node has loaded them too, but not all that they export. */
const inParts = new Set(["node:fs", "node:process", "node:util"]);

async function used(path) {
  const names = Object.keys(await import(path)).filter((name) => name !== "default");
  return `const loaded = /* @__PURE__ */ process.getBuiltinModule("${path}");
    const exportOf = (name) => loaded[name];
    export default loaded;
    ${names.map((name) => `export const ${name} = /* @__PURE__ */ exportOf("${name}");`).join("\n")}`;
}

/** The importer gets an object that finds each export when it is read. It has no keys of its own, so it can't be spread or listed. */
function lazy(path) {
  return `let loaded;
    const get = (_, name) => (loaded ??= process.getBuiltinModule("${path}"))[name];
    module.exports = Object.create(new Proxy({}, { get }));`;
}
