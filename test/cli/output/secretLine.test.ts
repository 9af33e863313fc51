import assert from "node:assert/strict";
import fc from "fast-check";
import { SecretLine, type Typed } from "../../../src/cli/terminal/readSecret.ts";

function typed(...chunks: readonly string[]): Typed {
  const line = new SecretLine(100);
  let told: Typed = { kind: "typing" };
  for (const chunk of chunks) {
    told = line.feed(chunk);
    if (told.kind !== "typing") break;
  }
  return told;
}

describe("a line that is typed without being shown", () => {
  for (const [what, sent, text] of [
    ["ends with Enter", "plr_abc\r", "plr_abc"],
    ["ends with a line feed, and what follows is dropped", "plr_abc\nrm -rf\n", "plr_abc"],
    ["ends with Ctrl-D", "plr_abc\u0004", "plr_abc"],
    ["is corrected by backspace", "plr_abx\u007fc\r", "plr_abc"],
    ["is corrected by the other backspace, also beyond its beginning", "x\b\b\bplr_abc\r", "plr_abc"],
    ["begins anew after Ctrl-U", "nonsense\u0015plr_abc\r", "plr_abc"],
    ["is pasted between marks", "\u001b[200~plr_abc\u001b[201~\r", "plr_abc"],
    ["has no cursor keys in it", "\u001b[Dplr_\u001bOAabc\u001b[1;5C\r", "plr_abc"],
    ["ends with Enter after a lone Escape", "plr_abc\u001b\r", "plr_abc"],
    ["has no other controls in it", "\u0000p\u0001l\u001ar_abc\t\r", "plr_abc"],
  ] as const) {
    it(what, () => {
      assert.deepEqual(typed(sent), { kind: "entered", text });
      assert.deepEqual(typed(...sent), { kind: "entered", text });
    });
  }

  it("is interrupted by Ctrl-C, also within a sequence", () => {
    assert.deepEqual(typed("plr_\u0003"), { kind: "interrupted" });
    assert.deepEqual(typed("plr_\u001b[", "\u0003"), { kind: "interrupted" });
  });

  it("takes no more than it may hold", () => {
    assert.deepEqual(typed("k".repeat(100)), { kind: "typing" });
    assert.deepEqual(typed("k".repeat(101)), { kind: "too-long" });
  });

  it("comes to the same however the terminal cuts it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "~", "[", "O", "\u001b", "\u007f", "\u0015", "2", ";"), {
          maxLength: 30,
        }),
        fc.array(fc.nat(30)),
        (keys, cuts) => {
          const sent = `${keys.join("")}\r`;
          const bounds = [...new Set([0, ...cuts.filter((cut) => cut < sent.length)])].sort((a, b) => a - b);
          const chunks = bounds.map((start, index) => sent.slice(start, bounds[index + 1]));
          assert.deepEqual(typed(...chunks), typed(sent));
        },
      ),
    );
  });
});
