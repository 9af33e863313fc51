import assert from "node:assert/strict";
import { watchQuota } from "../../../src/extension/announce/notices.ts";
import type { OrgReading, SessionState } from "../../../src/extension/session/serviceConnection.ts";
import type { Claims } from "../../../src/extension/window/claims.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import { memoryClaims } from "../memoryClaims.ts";
import { live, noon } from "../status/facts.ts";

const turn = () => new Promise(setImmediate);

/** A window that watches the quota, and what it shows. */
function windowWith(claims: Pick<Claims, "claim">, answer?: string) {
  const shown: string[] = [];
  const did: string[] = [];
  const state = new ObservableValue<SessionState>({ kind: "idle" });
  const reading = new ObservableValue<OrgReading | undefined>({ how: "followed", at: noon, servedAt: noon });
  let isOn = true;
  const now = { value: noon };
  const watching = watchQuota({
    session: { state, reading, origin: "http://127.0.0.1" },
    claims,
    window: {
      showInformationMessage: (text: string, ...buttons: unknown[]) => {
        shown.push(text);
        return Promise.resolve(buttons.find((button) => button === answer) as never);
      },
    },
    isOn: () => isOn,
    switchOff: async () => {
      isOn = false;
    },
    executeCommand: async (command) => void did.push(command),
    now: () => now.value,
  });
  return { shown, did, state, reading, now, watching };
}

describe("the notice of a day that runs low", () => {
  it("comes once, from 80 % on, and stays true however often the number changes", async () => {
    const { shown, state } = windowWith(memoryClaims());
    for (const used of [39, 40, 41, 45, 50]) {
      state.set(live(used));
      await turn();
    }
    assert.equal(shown.length, 1);
    assert.equal(shown[0], "At least 40 of today's 50 runs are used. The count starts again at 00:00 UTC.");
  });

  it("comes once a day in each window where no claim can be stored", async () => {
    const { shown, state, reading, now } = windowWith({ claim: async () => true });
    for (const used of [40, 41, 42]) state.set(live(used));
    await turn();
    assert.equal(shown.length, 1);
    now.value += 86_400_000;
    reading.set({ how: "followed", at: now.value, servedAt: now.value });
    for (const used of [43, 44]) state.set(live(used));
    await turn();
    assert.equal(shown.length, 2);
  });

  it("comes in one window of several, and again the next day", async () => {
    const claims = memoryClaims();
    const windows = [windowWith(claims), windowWith(claims)];
    for (const { state } of windows) state.set(live(40));
    await turn();
    assert.equal(windows.flatMap(({ shown }) => shown).length, 1);
    for (const { state, reading, now } of windows) {
      now.value += 86_400_000;
      reading.set({ how: "followed", at: now.value, servedAt: now.value });
      state.set(live(49));
    }
    await turn();
    assert.match(windows.flatMap(({ shown }) => shown)[1] ?? "", /^At least 49 of today's 50 runs are used/);
  });

  it("can be switched off by its button", async () => {
    const { shown, state, reading, now } = windowWith(memoryClaims(), "Don't Show Again");
    state.set(live(40));
    await turn();
    now.value += 86_400_000;
    reading.set({ how: "followed", at: now.value, servedAt: now.value });
    state.set(live(41));
    await turn();
    assert.equal(shown.length, 1);
  });

  it("leads to the runs", async () => {
    const { did, state } = windowWith(memoryClaims(), "Show Runs");
    state.set(live(40));
    await turn();
    assert.deepEqual(did, ["pipelineRuns.runs.focus"]);
  });
});
