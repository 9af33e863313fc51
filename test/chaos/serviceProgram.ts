import { lineLog } from "../../src/machine/log.ts";
import { serve } from "../../src/service/server.ts";

// The service as a process of its own: `node serviceProgram.ts <data folder> <version or -> <the runner's program>`. Its first line is its address, or `taken`. One of a version leaves for a newer one. It
// ends when its standard input does, so that it never outlives the tests; in order when it is asked to by a signal.
const [folder = "", version = "-", runnerPath = ""] = process.argv.slice(2);
const serving = await serve({
  folder,
  port: "as-before",
  runnerPath,
  env: process.env,
  log: lineLog((line) => process.stderr.write(line), Date.now),
  graceMilliseconds: 300,
  ...(version === "-" ? {} : { version, idleSeconds: 600 }),
});
if (serving === "taken") {
  process.stdout.write("taken\n", () => process.exit(0));
} else {
  process.stdout.write(`${serving.url}\n`);
  process.stdin.resume().once("end", () => process.exit(1));
  let isStopping = false;
  process.on("SIGTERM", () => {
    if (isStopping) process.exit(130);
    isStopping = true;
    void serving.stop();
  });
  await serving.stopped;
  process.exit(0);
}
