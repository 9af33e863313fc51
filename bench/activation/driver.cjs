// An extension that is active before all others. It hooks the loading of modules in its host, activates the contestants
// in the order that it is told, and notes how long each one's load and its `activate` took, and which modules came of it.
const { appendFileSync, readFileSync } = require("node:fs");
const { registerHooks } = require("node:module");
const { setTimeout: pause } = require("node:timers/promises");
const vscode = require("vscode");

const measured = {};
const loaded = [];
globalThis.pipelineRunsBench = (id, times) => {
  measured[id] = times;
};

/** Stands where the contestant's own entry would, and loads that. */
const wrapper = (id, url) => `
const begun = performance.now();
const entry = await import(${JSON.stringify(`${url}?measured`)});
const load = performance.now() - begun;
export async function activate(context) {
  const at = Date.now();
  const begun = performance.now();
  const active = entry.activate(context);
  const call = performance.now() - begun;
  globalThis.pipelineRunsBench(${JSON.stringify(id)}, { at, load, activate: call });
  return active;
}
export const deactivate = entry.deactivate;
`;

exports.activate = async () => {
  const { contestants, order, results, settleMilliseconds } = JSON.parse(
    readFileSync(process.env.PIPELINE_RUNS_BENCH, "utf8"),
  );
  const entries = new Map(
    contestants.map((id) => {
      const { extensionUri, packageJSON } = vscode.extensions.getExtension(id);
      return [vscode.Uri.joinPath(extensionUri, packageJSON.main).toString(true), id];
    }),
  );
  registerHooks({
    load(url, context, nextLoad) {
      const id = entries.get(decodeURI(url));
      if (id !== undefined) return { format: "module", source: wrapper(id, url), shortCircuit: true };
      if (url.startsWith("file:")) loaded.push(url.replace(/\?measured$/, ""));
      return nextLoad(url, context);
    },
  });
  for (const id of order) await vscode.extensions.getExtension(id).activate();
  await pause(settleMilliseconds);
  appendFileSync(results, `${JSON.stringify({ measured, loaded })}\n`);
};
