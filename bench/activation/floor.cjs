// The least that an extension can be which shows the day's runs, and starts one: what the product is measured beside.
const { spawn } = require("node:child_process");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const vscode = require("vscode");

exports.activate = (context) => {
  const item = vscode.window.createStatusBarItem("quota");
  const ask = async ({ url, token }, path, options) => {
    const reply = await fetch(`${url}/api/${path}`, { ...options, headers: { "x-api-key": token } });
    return reply.json();
  };
  const running = () => JSON.parse(readFileSync(join(process.env.PIPELINE_DATA_DIR, "service.json"), "utf8"));
  const showNumber = async (service) => {
    const { usage, limits } = await ask(service, "org");
    item.text = `${usage["runs-today"]} of ${limits["runs-per-day"]} runs`;
    item.show();
  };
  const run = async () => {
    const pipeline = await vscode.window.showQuickPick(["hello"]);
    await ask(running(), "runs", { method: "POST", body: JSON.stringify({ pipeline }) });
    item.text = "$(sync~spin) running";
  };
  context.subscriptions.push(item, vscode.commands.registerCommand("bench.run", run));
  if (!context.extension.packageJSON.startsService) {
    void showNumber(running());
    return;
  }
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: "1" };
  const server = spawn(process.execPath, [join(__dirname, "server.cjs")], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  server.stdout.once("data", (url) => showNumber({ url: String(url).trim(), token: "any" }));
};
