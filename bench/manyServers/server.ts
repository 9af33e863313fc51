// A server of the service on PostgreSQL, in a process of its own.
import { join } from "node:path";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { serveDatabase } from "../../src/team/serveDatabase.ts";
import { answerCalls } from "../worker/answerCalls.ts";

export type ServerCalls = {
  /** @returns its address. */
  readonly serve: (url: string) => Promise<string>;
};

let serving: Awaited<ReturnType<typeof serveDatabase>> | undefined;

answerCalls<ServerCalls>(
  {
    async serve(url) {
      const parserPath = join(projectRoot, "dist/parser.js");
      const place = { url, host: "127.0.0.1", port: 0, parserPath };
      serving = await serveDatabase({ ...place, retentionDays: 30, log: () => {} });
      return serving.url;
    },
  },
  () => serving?.stop(),
);
