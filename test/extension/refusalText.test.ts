import assert from "node:assert/strict";
import { refusalText, showRefusal } from "../../src/extension/refusalNotice.ts";

const noon = Date.parse("2026-03-04T12:00:00Z");
const taken = { pipeline: "nightly", refusal: { scope: "org" as const }, waitedSeconds: 120 };
const usedUp = {
  pipeline: "nightly",
  refusal: { scope: "free-day" as const, secondsToReset: 43_200 },
  waitedSeconds: 0,
};

/** A window that presses the button of a title, and remembers what it was shown. */
function pressing(title: string | undefined) {
  const shown: { text: string; buttons: string[] }[] = [];
  const showWarningMessage = async (text: string, ...buttons: string[]) => {
    shown.push({ text, buttons });
    return title;
  };
  return { shown, window: { showWarningMessage } as never };
}

describe("the notification of a refused start", () => {
  it("names the error, the scope and the seconds, and gives the hints", () => {
    const text = refusalText(usedUp, noon);
    assert.match(text, /nightly was not started: too-many-runs\./);
    assert.match(text, /free-day/);
    assert.match(text, /in 43200 s/);
    assert.match(text, /pipeline run nightly \(retry after 43200 s\)/);
  });

  it("tells the reset of a used-up day in the person's own time", () => {
    const local = new Date("2026-03-05T00:00:00Z").toLocaleTimeString([], {
      hour: "2-digit",
      minute: "2-digit",
    });
    assert(refusalText(usedUp, noon).includes(`That is ${local} your time.`));
    assert(!refusalText(taken, noon).includes("your time"));
  });

  it("offers Retry, and Cancel My Runs where a place can be given up", async () => {
    const org = pressing("Cancel My Runs");
    assert.equal(await showRefusal(taken, org.window, noon), "cancel-mine");
    assert.deepEqual(org.shown[0]?.buttons, ["Retry", "Cancel My Runs"]);
    const day = pressing("Retry");
    assert.equal(await showRefusal(usedUp, day.window, noon), "retry");
    assert.deepEqual(day.shown[0]?.buttons, ["Retry"]);
    assert.equal(await showRefusal(usedUp, pressing(undefined).window, noon), "dismissed");
  });

  it("shows the hints of a service's own tool as that tool gave them", () => {
    const text = refusalText(usedUp, noon, [{ command: "cloud run nightly", doc: "retry after 43200 s" }]);
    assert.match(text, /Hint: cloud run nightly \(retry after 43200 s\)\./);
  });
});
