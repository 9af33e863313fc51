import { join } from "node:path";
import { AwsClient } from "aws4fetch";
import { installOnDemand } from "../../scripts/process/installOnDemand.ts";
import { Program } from "../../scripts/process/program.ts";
import { sayToStandardError } from "../../scripts/say.ts";
import { objectStoreSettings } from "../../src/team/store/objectStore.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

const folder = join(import.meta.dirname, "programs");
const serverFolder = join(folder, "node_modules/@20minutes/s3rver");
/** The only one that it knows. */
const key = "S3RVER";

export type StartedObjectStore = Awaited<ReturnType<typeof startedObjectStore>>;

/** An S3 server of its own on loopback, with a bucket `runs`. It checks signatures. It is installed where it isn't yet. */
export async function startedObjectStore(signal: AbortSignal) {
  const packages = {
    name: "an S3 server for the tests",
    size: "about 15 MB",
    folder,
    finish: async () => {},
  };
  await installOnDemand(packages, sayToStandardError, signal);
  await using cleanUp = new AsyncDisposableStack();
  const { path } = cleanUp.use(await TemporaryFolder.make("pipeline-runs-objects"));
  const run = async (port: number) => {
    // Its package has no program.
    const start = ["--eval", "require(process.argv[1]).parseAsync()", join(serverFolder, "lib/cli.js")];
    const words = ["-d", path, "-a", "127.0.0.1", "-p", String(port), "--configure-bucket", "runs"];
    const program = new Program(process.execPath, [...start, ...words]);
    const ready = await program.outputMatching(/listening on \S+:(\d+)/, signal);
    if (ready === undefined) throw new Error(`the S3 server didn't start:\n${program.output}`);
    return { program, port: Number(ready[1]) };
  };
  let { program, port } = await run(0);
  const all = cleanUp.move();
  const environment = (endpoint = `http://127.0.0.1:${port}`) => ({
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: key,
    AWS_SECRET_ACCESS_KEY: key,
  });
  const client = new AwsClient({
    accessKeyId: key,
    secretAccessKey: key,
    service: "s3",
    region: "us-east-1",
  });
  return {
    /** What names it to a server. @param endpoint another address that leads to it. */
    environment,
    settings: (named = "s3://runs", changed: Record<string, string> = {}) =>
      objectStoreSettings(named, { ...environment(), ...changed }),
    /** The keys of all objects in its bucket, sorted. */
    async keys(): Promise<readonly string[]> {
      const reply = await client.fetch(`http://127.0.0.1:${port}/runs?list-type=2&max-keys=1000`);
      return [...(await reply.text()).matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, each = ""]) => each).sort();
    },
    /** What is in an object. */
    async get(named: string): Promise<Buffer> {
      const reply = await client.fetch(`http://127.0.0.1:${port}/runs/${named}`);
      return Buffer.from(await reply.arrayBuffer());
    },
    stop: () => program.stop(),
    /** Starts it again on its port, with what it has. */
    async restart() {
      ({ program, port } = await run(port));
    },
    async [Symbol.asyncDispose]() {
      await program.stop();
      await all.disposeAsync();
    },
  };
}
