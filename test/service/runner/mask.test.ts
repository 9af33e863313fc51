import assert from "node:assert/strict";
import fc from "fast-check";
import { Mask } from "../../../src/service/runner/mask.ts";

describe("a mask", () => {
  it("hides a secret as it is, in JSON and in an address", () => {
    const mask = new Mask(['a"b c']);
    assert.equal(mask.hide('[a"b c] {"t":"a\\"b c"} ?t=a%22b%20c'), '[***] {"t":"***"} ?t=***');
  });

  it("hides a secret in each part of an address, whatever is escaped there", () => {
    const secret = "pä$s w@rd/x:y'";
    const mask = new Mask([secret]);
    const url = new URL(`http://h.test/${secret}/b?q=${secret}&form=${new URLSearchParams({ a: secret })}`);
    assert.equal(mask.hide(url.href), "http://h.test/***/b?q=***&form=a=***");
    assert.equal(mask.hide(Buffer.from(secret).toString("base64")), "***");
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

  it("shows in a pause two letters of what is held, and hides the rest when it was a secret", () => {
    const stream = new Mask(["secret"]).stream();
    assert.equal(stream.write("a sec"), "a ");
    assert.equal(stream.pause(), "se");
    assert.equal(stream.pause(), "");
    assert.equal(stream.rest(), "c");
    assert.equal(stream.write("ret, se"), "***, ");
    assert.equal(stream.pause(), "se");
    assert.equal(stream.write("at"), "at");
    assert.equal(stream.end(), "");
  });

  it("shows in pauses no more of a secret than two letters", () => {
    const letters = (maxLength: number, minLength = 0) =>
      fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength, maxLength });
    fc.assert(
      fc.property(
        letters(6, 3),
        fc.array(fc.oneof(letters(8), fc.constant(null)), { maxLength: 12 }),
        (secret, pieces) => {
          const mask = new Mask([secret]);
          const stream = mask.stream();
          const shown = pieces.map((piece) => (piece === null ? stream.pause() : stream.write(piece)));
          const streamed = shown.join("") + stream.end();
          const hidden = mask.hide(pieces.join(""));
          const parts = hidden.split("***").length - 1;
          const more = streamed.replaceAll("*", "").length - hidden.replaceAll("*", "").length;
          assert.ok(!streamed.includes(secret));
          assert.ok(more >= 0 && more <= 2 * parts, `${streamed} for ${hidden}`);
          // Besides those letters it is the same text.
          assert.ok(isWithin(hidden.replaceAll("*", ""), streamed));
        },
      ),
      { numRuns: 2000 },
    );
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

/** Whether all letters stand in the text, in their order. */
function isWithin(letters: string, text: string): boolean {
  let at = -1;
  return [...letters].every((letter) => {
    at = text.indexOf(letter, at + 1);
    return at !== -1;
  });
}

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
