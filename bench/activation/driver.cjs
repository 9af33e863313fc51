// An extension that is active before all others. It hooks the loading of modules in its host, activates the contestants
// in the order that it is told, and notes how long each one's load and its `activate` took, and which modules came of it.
const { appendFileSync, readFileSync, statSync } = require("node:fs");
const childProcess = require("node:child_process");
const { once } = require("node:events");
const http = process.getBuiltinModule("node:http");
const { registerHooks } = require("node:module");
const { setTimeout: pause } = require("node:timers/promises");
const vscode = require("vscode");

const measured = {};
const loaded = [];
/** What the extensions ask of the host, with its beginning and end in milliseconds since 1970. */
const asked = [];
const noteAsked = async (name, begun, result) => {
  const entry = { name, begun, ended: undefined };
  asked.push(entry);
  await result.catch(() => {});
  entry.ended = now();
};
const now = () => performance.timeOrigin + performance.now();
globalThis.pipelineRunsBench = (id, times) => {
  measured[id] = times;
};

/** Stands where the contestant's own entry would, loads that in the entry's own way, and measures both. */
const wrapper = (id, isModule, url) => `
const begun = performance.now();
const entry = ${isModule ? `await import(${JSON.stringify(`${url}?measured`)})` : "loadAgain()"};
const load = performance.now() - begun;
function loadAgain() {
  // Node would give this very module, which isn't made yet.
  delete require.cache[__filename];
  return require(__filename);
}
${isModule ? "export { activate }; export const " : "exports.activate = activate; exports."}deactivate = entry.deactivate;
function activate(context) {
  const at = Date.now();
  const begun = performance.now();
  const active = entry.activate(context);
  const call = performance.now() - begun;
  globalThis.pipelineRunsBench(${JSON.stringify(id)}, { at, load, activate: call });
  return active;
}
`;

exports.activate = async () => {
  const { order, results, settleMilliseconds } = JSON.parse(
    readFileSync(process.env.PIPELINE_RUNS_BENCH, "utf8"),
  );
  const entries = new Map(
    order.map((id) => {
      const { extensionUri, packageJSON } = vscode.extensions.getExtension(id);
      return [vscode.Uri.joinPath(extensionUri, packageJSON.main).toString(true), id];
    }),
  );
  registerHooks({
    load(url, context, nextLoad) {
      const id = entries.get(decodeURI(url));
      if (id !== undefined) {
        // Only the first time: what loads it then is the wrapper.
        entries.delete(decodeURI(url));
        const isModule = context.format === "module";
        const format = isModule ? "module" : "commonjs";
        return { format, source: wrapper(id, isModule, url), shortCircuit: true };
      }
      if (url.startsWith("file:")) loaded.push({ url: url.replace(/\?measured$/, ""), at: now() });
      return nextLoad(url, context);
    },
  });
  const { fetch } = globalThis;
  globalThis.fetch = (url, options) => {
    const begun = now();
    const reply = fetch(url, options);
    void noteAsked(`${options?.method ?? "GET"} ${new URL(url).pathname}`, begun, reply);
    return reply;
  };
  const { spawn } = childProcess;
  childProcess.spawn = (...args) => {
    const begun = now();
    const child = spawn(...args);
    void noteAsked("spawn", begun, Promise.resolve());
    return child;
  };
  const { request } = http;
  http.request = (url, options) => {
    const begun = now();
    const asking = request(url, options);
    void noteAsked(`${options?.method ?? "GET"} ${url?.pathname}`, begun, once(asking, "response"));
    return asking;
  };
  for (const id of order) await vscode.extensions.getExtension(id).activate();
  await pause(settleMilliseconds);
  const files = loaded.map(({ url, at }) => ({ url, at, bytes: statSync(new URL(url)).size }));
  appendFileSync(results, `${JSON.stringify({ measured, loaded: files, asked })}\n`);
};
