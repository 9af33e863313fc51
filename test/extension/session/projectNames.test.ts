import assert from "node:assert/strict";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import { ProjectNames } from "../../../src/extension/session/projectNames.ts";
import type { SessionState } from "../../../src/extension/session/serviceConnection.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, sendError, sendJson } from "../../client/loopbackService.ts";
import { live } from "../status/facts.ts";

/** A service that knows `/one/lamps` as `lamps-2`, or one whose key may tell it of no project. */
async function scene({ mayTell = true } = {}) {
  const service = await LoopbackService.listen(({ body }, response) => {
    if (!mayTell) return sendError(response, 403, "forbidden");
    const { root } = JSON.parse(body);
    return sendJson(response, 200, { name: root === "/one/lamps" ? "lamps-2" : "lamps", root });
  });
  const session = {
    state: new ObservableValue<SessionState>(live(1)),
    currentClient: service.client(systemClock) as ServiceClient | undefined,
  };
  const trust = { isTrusted: true };
  const names = new ProjectNames({ session, log: { warn: () => {} }, isTrusted: () => trust.isTrusted });
  return {
    service,
    session,
    trust,
    names,
    async [Symbol.asyncDispose]() {
      names.dispose();
      await service[Symbol.asyncDispose]();
    },
  };
}

const one = { name: "lamps", root: "/one/lamps" };
const two = { name: "lamps", root: "/two/lamps" };

describe("the names of the window's projects", () => {
  it("are those that the service knows, asked for once", async () => {
    await using at = await scene();
    await at.names.update([one, two]);
    // As a command connects, and the window besides.
    at.session.currentClient = at.service.client(systemClock);
    await at.names.update([one, two]);
    await at.names.register(at.service.client(systemClock), one);
    assert.deepEqual(
      [...at.names.current],
      [
        ["/one/lamps", "lamps-2"],
        ["/two/lamps", "lamps"],
      ],
    );
    assert.equal(at.service.asked.length, 2);
  });

  it("are the folders' own for a key that may tell the service of none, as a viewer's", async () => {
    await using at = await scene({ mayTell: false });
    await at.names.update([one, two]);
    assert.deepEqual([...at.names.current.values()], ["lamps", "lamps"]);
  });

  it("are not another service's, and no service is told of what isn't trusted", async () => {
    await using at = await scene();
    at.trust.isTrusted = false;
    await at.names.update([one]);
    assert.equal(at.service.asked.length, 0);
    at.trust.isTrusted = true;
    await at.names.update([one]);
    at.session.currentClient = at.service.client(systemClock, { path: "/other/" });
    assert.equal(at.names.current.size, 0);
  });
});
