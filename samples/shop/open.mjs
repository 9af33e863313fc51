// Starts the shop in the background, and ends once it answers; its arguments are the shop's. Written in JavaScript so that
// it works in every shell.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("server.mjs", import.meta.url));
const server = spawn(process.execPath, [program, ...process.argv.slice(2)], {
  detached: true,
  stdio: ["ignore", "ignore", "inherit", "ipc"],
  windowsHide: true,
});
server.once("error", (error) => close(`the shop can't be started: ${error.message}`));
server.once("exit", (code) => close(`the shop closed at once (${code})`));
server.once("message", ({ listening, problem }) => {
  if (problem !== undefined) return close(problem);
  console.log(`the shop is open on port ${listening}`);
  server.disconnect();
  server.unref();
  process.exit(0);
});

function close(problem) {
  console.error(problem);
  process.exit(1);
}
