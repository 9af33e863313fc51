import assert from "node:assert/strict";
import fc from "fast-check";
import { Mask } from "../../../src/service/runner/mask.ts";

describe("a mask", () => {
  it("hides a secret as it is, in JSON and in an address", () => {
    const mask = new Mask(['a"b c']);
    assert.equal(mask.hide('[a"b c] {"t":"a\\"b c"} ?t=a%22b%20c'), '[***] {"t":"***"} ?t=***');
  });

  it("hides the lines of a secret of many lines, but not its brackets", () => {
    const mask = new Mask(["-----BEGIN KEY-----\nabcdefghijkl\n-----END KEY-----\n}"]);
    assert.equal(mask.hide("{abcdefghijkl}"), "{***}");
  });

  it("hides the password of an address also where it stands alone", () => {
    const mask = new Mask(["postgres://app:p%40ss@db.example/shop", "https://a.test/x:y@z"]);
    assert.equal(mask.hide("app p%40ss p@ss db.example x:y"), "app *** *** db.example x:y");
    assert.equal(new Mask(["a://b:abc%@d"]).hide("abc%"), "***");
  });

  it("leaves one and two characters alone, and an empty value", () => {
    assert.equal(new Mask(["", "1", "ab"]).hide("1 ab"), "1 ab");
  });

  it("hides the whole of secrets that overlap", () => {
    assert.equal(new Mask(["abcd", "cdef"]).hide("xabcdefx"), "x***x");
    assert.equal(new Mask(["abc", "abcdef"]).hide("abcdef abc"), "*** ***");
  });

  it("shows in a stream at once what can't be part of a secret", () => {
    const stream = new Mask(["secret"]).stream();
    assert.equal(stream.write("hello se"), "hello ");
    assert.equal(stream.write("at, sec"), "seat, ");
    assert.equal(stream.write("ret!"), "***!");
    assert.equal(stream.end(), "");
  });

  it("hides in a stream what it hides in a whole text, however the text is cut", () => {
    const letters = (maxLength: number, minLength = 0) =>
      fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength, maxLength });
    fc.assert(
      fc.property(
        fc.array(letters(6, 3), { maxLength: 4 }),
        fc.array(letters(8), { maxLength: 12 }),
        (secrets, pieces) => {
          const mask = new Mask(secrets);
          const stream = mask.stream();
          const streamed = pieces.map((piece) => stream.write(piece)).join("") + stream.end();
          const text = pieces.join("");
          assert.equal(streamed, mask.hide(text));
          assert.equal(streamed, hideSlowly(text, secrets));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

/** The same, letter by letter. */
function hideSlowly(text: string, secrets: readonly string[]): string {
  const hidden = [...text].map((_, index) =>
    secrets.some((secret) => {
      for (let from = Math.max(0, index - secret.length + 1); from <= index; from += 1) {
        if (text.startsWith(secret, from)) return true;
      }
      return false;
    }),
  );
  return [...text]
    .map((letter, index) => (hidden[index] ? (hidden[index - 1] ? "" : "***") : letter))
    .join("");
}
