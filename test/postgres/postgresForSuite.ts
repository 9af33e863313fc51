import { StartedPostgres } from "./startedPostgres.ts";

/** A server that is there for all the tests of a suite. */
export function postgresForSuite(
  native: string,
  options: Parameters<typeof StartedPostgres.start>[2] = {},
): () => StartedPostgres {
  let server: StartedPostgres | undefined;
  before(async function () {
    // The first time it comes from npm.
    this.timeout(300_000);
    server = await StartedPostgres.start(native, AbortSignal.timeout(290_000), options);
  });
  after(() => server?.[Symbol.asyncDispose]());
  return () => {
    if (server === undefined) throw new Error("PostgreSQL wasn't started");
    return server;
  };
}
