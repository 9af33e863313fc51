// A server of the service on PostgreSQL, in a process of its own.
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
      serving = await serveDatabase({ url, host: "127.0.0.1", port: 0, retentionDays: 30, log: () => {} });
      return serving.url;
    },
  },
  () => serving?.stop(),
);
