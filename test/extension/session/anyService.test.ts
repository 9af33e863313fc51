import assert from "node:assert/strict";
import * as fc from "fast-check";
import { Session } from "../../../src/extension/session/session.ts";
import { anyServices, generated, ServedAny } from "../../client/anyService/anyService.ts";
import { testKey } from "../../client/loopbackService.ts";

describe(`the window's connection to any service that has what is given (${generated.text})`, function () {
  this.timeout(600_000);

  it("shows its number at once, and still does after ten minutes, however its events fail", async () => {
    await fc.assert(
      fc.asyncProperty(anyServices, async (any) => {
        await using served = await ServedAny.listen(any);
        const { clock, counted, service } = served;
        const session = new Session({
          target: () => ({ kind: "remote", baseUrl: new URL(`${service.origin}/`) }),
          keys: { get: async () => testKey },
          embedded: () => assert.fail("no embedded service is wanted here"),
          log: { info: () => {}, warn: () => {} },
          random: () => 0.5,
          clock,
          fetch: counted.fetch,
        });
        using _ = { [Symbol.dispose]: () => session.dispose() };
        const shown = () => {
          const { value } = session.state;
          return value.kind === "live" ? value.org.usage.runsToday : value.kind;
        };
        const live = new Promise<void>((resolve) => {
          session.state.observe(({ kind }) => kind === "live" && resolve());
        });
        session.watch();
        const { took } = await served.settled(live);
        assert.equal(took, 0);
        assert.equal(shown(), any.used);
        const seen = new Set<unknown>();
        session.state.observe(() => seen.add(shown()));
        await served.settled(clock.sleep(600_000, new AbortController().signal));
        assert.deepEqual([...seen], [any.used]);
        assert.equal(served.elsewhere.asked.length, 0);
      }),
      generated.parameters,
    );
  });
});
