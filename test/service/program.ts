import { enableCompileCache } from "node:module";
import { compiledFolder, lateRunnerPath } from "./programs.ts";

// What tests start in a process of its own, straight from its source: `node program.ts serve <data folder> [<user id>]` or
// `node program.ts runner <url> <key> <slots> [once]`. Its first line is the service's address, or the runner's id; where
// it can't start, it ends with 1 and a sentence. It ends when its standard input does, so that it outlives no test.
enableCompileCache(compiledFolder);
const { describeError } = await import("../../src/contract/errors.ts");
const { lineLog } = await import("../../src/machine/log.ts");

const [what, ...words] = process.argv.slice(2);
const log = lineLog((line) => process.stderr.write(line), Date.now);
const begun = (line: string) => {
  process.stdout.write(`${line}\n`);
  process.stdin.resume().once("end", () => process.exit(0));
};

if (what === "serve") {
  const { serve } = await import("../../src/service/server.ts");
  const [folder = "", user] = words;
  // Once all is loaded: another user may not be allowed to read it.
  if (user !== undefined) {
    process.setgid?.(Number(user));
    process.setuid?.(Number(user));
  }
  const { env } = process;
  try {
    const serving = await serve({
      folder,
      port: 0,
      runnerPath: lateRunnerPath,
      env,
      log,
      graceMilliseconds: 300,
    });
    if (serving === "taken") throw new Error("the folder is served already");
    begun(serving.url);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  }
} else {
  const { runRunner } = await import("./testRunner.ts");
  const [url = "", apiKey = "", slots = "1", once] = words;
  const draining = new AbortController();
  process.once("SIGTERM", () => draining.abort());
  await runRunner({ url, apiKey }, draining.signal, {
    ...{
      log,
      slots: Number(slots),
      isOnce: once !== undefined,
      graceMilliseconds: 1_000,
      onRegistered: begun,
    },
  });
  process.exit(0);
}
