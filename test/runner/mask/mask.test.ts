import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mock } from "node:test";
import fc from "fast-check";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { SecretSearch, searchSteps } from "../../../src/runner/mask/secretSearch.ts";

describe("a mask", () => {
  it("hides a secret as it is, in JSON and in an address", () => {
    const mask = new Mask(['a"b c']);
    assert.equal(mask.hide('[a"b c] {"t":"a\\"b c"} ?t=a%22b%20c'), '[***] {"t":"***"} ?t=***');
  });

  it("learns secrets, which are hidden from then on, in what was held back too", () => {
    const mask = new Mask(["first-secret"]);
    const stream = mask.stream();
    const step = mask.ofStep();
    assert.equal(stream.write("a second-secret b first-se"), "a second-secret b ");
    // One is known already.
    mask.add(["first-secret", "second-secret"]);
    assert.equal(stream.write("cret second-sec"), "*** ");
    assert.equal(stream.write("ret.") + stream.end(), "***.");
    assert.deepEqual([mask.hide("second-secret"), step.hide("second-secret")], ["***", "***"]);
  });

  it("learns a secret without another look at those that it knows", () => {
    const mask = new Mask([]);
    const made = mock.method(Buffer, "from");
    try {
      const counts = Array.from({ length: 20 }, (_, index) => {
        const before = made.mock.callCount();
        mask.add([`secret-${index + 10}`]);
        return made.mock.callCount() - before;
      });
      assert.deepEqual(new Set(counts), new Set(counts.slice(0, 1)));
    } finally {
      made.mock.restore();
    }
  });

  it("compares a text with those of many secrets alone that begin with the same two characters", () => {
    const search = new SecretSearch();
    const compared = new Set<number>();
    search.add(
      Array.from({ length: 1000 }, (_, index) => ({
        ignored: "",
        get units() {
          compared.add(index);
          return `s${String.fromCharCode(0x4e00 + index)}-secret`.split("");
        },
      })),
    );
    compared.clear();
    const { covered } = search.in("s\u4e07-secret s\u4e08-public", true, { left: 1000, hidesLine: false });
    assert.deepEqual([covered, [...compared]], [[{ from: 0, to: 9 }], [7, 8]]);
  });

  it("of a step can hide each text as a whole, and no other's", () => {
    const mask = new Mask([]);
    const step = mask.ofStep();
    step.hideAll();
    assert.deepEqual(
      [step.hide("a"), step.hideIn("a", 1), step.hide(""), mask.hide("a")],
      ["***", "***", "", "a"],
    );
  });

  it("hides a secret in each part of an address, whatever is escaped there", () => {
    const secret = "pä$s w@rd/x:y'";
    const mask = new Mask([secret]);
    const url = new URL(`http://h.test/${secret}/b?q=${secret}&form=${new URLSearchParams({ a: secret })}`);
    assert.equal(mask.hide(url.href), "http://h.test/***/b?q=***&form=a=***");
    assert.equal(mask.hide(Buffer.from(secret).toString("base64")), "***");
  });

  it("hides a secret with a letter beyond U+FFFF, as programs escape it", () => {
    const mask = new Mask(["k\u{1f511}ey"]);
    for (const text of [
      String.raw`k\U0001f511ey`,
      String.raw`k\u{1f511}ey`,
      String.raw`k\u{01F511}ey`,
      String.raw`k\ud83d\udd11ey`,
      "k&#128273;ey",
      "k%F0%9F%94%91ey",
    ]) {
      assert.equal(mask.hide(`a ${text} b`), "a *** b", text);
      const stream = mask.stream();
      const shown = [...`a ${text} b`].map((letter) => stream.write(letter)).join("") + stream.end();
      assert.equal(shown, "a *** b", text);
    }
  });

  it("hides a secret address as it is written once it was read, and a secret name of a host", () => {
    const mask = new Mask(["http://Hooks.TEST:80/t/T0KEN", "MyTenantName"]);
    const redirected = "GET http://hooks.test/t/T0KEN?step=2 → 302; no request to mytenantname.h.test";
    assert.equal(mask.hide(redirected), "GET ***?step=2 → 302; no request to ***.h.test");
    const other = new Mask(["https://hooks.test/t/T0KEN?sig=5", "Dev"]);
    assert.equal(other.hide("at https://hooks.test/t/T0KEN?…, a device"), "at ***?…, a device");
  });

  it("hides a secret in Base64 wherever it begins in it, without padding, in lines and in both alphabets", () => {
    const secret = 'Gr<é>/n_7$key"Q+9w&z';
    const mask = new Mask([secret]);
    const inBase64 = (text: string) => mask.hide(Buffer.from(text).toString("base64"));
    assert.equal(inBase64(secret).replaceAll("=", ""), "***");
    assert.equal(inBase64(`${secret}\n`), "***Cg==");
    assert.equal(inBase64(`me:${secret}`), "bWU6***");
    assert.equal(inBase64(`you:${secret}`), "eW91Ok***==");
    assert.equal(inBase64(`user:${secret}`), "dXNlcjp***=");
    assert.equal(mask.hide(Buffer.from(`user:${secret}`).toString("base64url")), "dXNlcjp***");
    const lines = Buffer.from("x".repeat(48) + secret)
      .toString("base64")
      .replace(/.{76}/g, "$&\n");
    assert.equal(mask.hide(lines), `${"eHh4".repeat(16)}***`);
  });

  it("hides a secret whatever of it is escaped, in each way in which programs do", () => {
    const mask = new Mask(['Gr<é>/n_7$key"Q+9w&z']);
    const escaped = {
      php: String.raw`Gr<é>\/n_7$key\"Q+9w&z`,
      go: String.raw`Gr\u003cé\u003e/n_7$key\"Q+9w\u0026z`,
      python: String.raw`Gr<\u00e9>/n_7$key\"Q+9w&z`,
      "bytes in Python": String.raw`Gr<\xc3\xa9>/n_7$key"Q+9w&z`,
      "lower-case digits": "Gr%3c%c3%a9%3e%2fn_7%24key%22Q%2b9w%26z",
      "every byte": "%47%72%3c%c3%a9%3e%2f%6e%5f%37%24%6b%65%79%22%51%2b%39%77%26%7a",
      "an address in an address": "Gr%253C%25C3%25A9%253E%252Fn_7%2524key%2522Q%252B9w%2526z",
      "JSON in JSON": String.raw`Gr\\u003cé>/n_7$key\\\"Q+9w&z`,
      "JSON in an address": "Gr%5Cu003c%C3%A9%3E%2Fn_7%24key%5C%22Q%2B9w%26z",
      html: "Gr&lt;&#233;&#x3E;/n_7$key&quot;Q+9w&amp;z",
      hex: "47723CC3A93E2F6E5F37246B657922512B3977267A",
    };
    for (const [how, text] of Object.entries(escaped)) assert.equal(mask.hide(`a ${text} z`), "a *** z", how);
  });

  it("hides a secret with quotes as shells, Python, SQL and CSV quote it, and one that a server reads as Latin-1", () => {
    const mask = new Mask([`it's_7"Q`, "pässwörd"]);
    const quoted = {
      "set -x": String.raw`'it'\''s_7"Q'`,
      "printf %q": String.raw`'it\'s_7\"Q'`,
      python: `'it'"'"'s_7"Q'`,
      sql: `'it''s_7"Q'`,
      csv: `'it's_7""Q'`,
      "Latin-1": "'pÃ¤sswÃ¶rd'",
    };
    for (const [how, text] of Object.entries(quoted)) assert.equal(mask.hide(text), "'***'", how);
  });

  it("takes a word that is no entity for what it is", () => {
    const text = String.raw`&toString; &valueOf; &__proto__; &constructor; \toString`;
    assert.equal(new Mask(["secret"]).hide(text), text);
  });

  it("hides a secret in any encoding, in any text and in any pieces", () => {
    const text = textOf('\\/%&+"=\n u0a');
    const secret = textOf('\\/%&+"=<> é\u2028😀').filter((some) => some.length >= 4 && !/[*\r\n]/.test(some));
    fc.assert(
      fc.property(
        secret,
        fc.constantFrom(...Object.entries(encodings)),
        fc.tuple(text, text),
        fc.tuple(text, text),
        fc.array(fc.nat({ max: 30 })),
        (secret, [, { encode, decode }], [before, behind], [outerBefore, outerBehind], cuts) => {
          const whole = `${outerBefore} ${encode(before, secret, behind)} ${outerBehind}`;
          const mask = new Mask([secret]);
          const stream = mask.stream();
          let [shown, at] = ["", 0];
          for (const length of cuts) {
            shown += stream.write(whole.slice(at, at + length));
            at += length;
          }
          shown += stream.write(whole.slice(at)) + stream.end();
          assert.equal(shown, mask.hide(whole));
          for (const read of decode(shown)) assert.ok(!read.includes(secret), `${read} from ${whole}`);
        },
      ),
      { numRuns: 1500 },
    );
  });

  it("leaves a text without secrets as it is", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 12, maxLength: 12 }),
        fc.array(textOf('\\/%&+"=\n u0a')),
        (bytes, pieces) => {
          const stream = new Mask([Buffer.from(bytes).toString("base64")]).stream();
          const shown = pieces.map((piece) => stream.write(piece)).join("") + stream.end();
          assert.equal(shown, pieces.join(""));
        },
      ),
    );
  });

  it("hides the lines of a secret of many lines, but not its brackets", () => {
    const mask = new Mask(["-----BEGIN KEY-----\nabcdefghijkl\n-----END KEY-----\n}"]);
    assert.equal(mask.hide("{abcdefghijkl}"), "{***}");
  });

  it("hides the password of an address also where it stands alone", () => {
    const mask = new Mask(["postgres://app:p%40ss@db.example/shop", "https://a.test/x:y@z"]);
    assert.equal(mask.hide("app p%40ss p@ss db.example x:y"), "app *** *** db.example x:y");
    assert.equal(new Mask(["a://b:abc%@d"]).hide("abc%"), "***");
    const asked = new Mask(["jdbc:postgresql://db.example/shop?user=ada&password=p%40ss+w&ssl=true"]);
    assert.equal(asked.hide("ada p%40ss+w p@ss w true"), "ada *** *** true");
    const twice = new Mask(['"postgres://ada:first@db.example/shop?password=second"\n']);
    assert.equal(twice.hide("ada first second"), "ada *** ***");
  });

  it("hides a secret in JSON that is in Base64, however JSON escapes it", () => {
    const secret = "pa'ss\"w<o>r&d\\x$5 z-\u00e4";
    const mask = new Mask([secret]);
    const ascii = JSON.stringify({ pw: secret }).replace("\u00e4", String.raw`\u00e4`);
    for (const json of [JSON.stringify({ pw: secret }), ascii, JSON.stringify([1, secret])]) {
      const shown = mask.hide(Buffer.from(json).toString("base64"));
      assert.ok(!Buffer.from(shown.replaceAll("*", ""), "base64").toString().includes("w<o>r"), shown);
    }
  });

  it("hides a secret in which a program has put what nobody sees: colours, titles, control characters", () => {
    const mask = new Mask(["tok3n-ABCdef/gh+ij"]);
    const secret = [..."tok3n-ABCdef/gh+ij"];
    for (const shown of [
      "tok3\u001b[01;31m\u001b[Kn-ABC\u001b[m\u001b[Kdef/gh+ij",
      secret.join("\u001b[3m"),
      secret.join("\0"),
      "tok3n-\u001b]0;a title\u0007ABCdef/gh+ij",
      "tok3n-\u009b1mABCdef\u001b(B/gh+ij",
      secret.join("\b"),
      `tok3n-\u001b[${"1;".repeat(20)}1mABCdef\u001bPdata\u001b\\/gh+ij`,
      "tok3n\u200b-ABC\u202edef\u007f/gh\u2028+ij",
    ]) {
      assert.equal(mask.hide(`a ${shown}\u001b[m b`), "a ***\u001b[m b");
      const stream = mask.stream();
      assert.equal([...shown].map((piece) => stream.write(piece)).join("") + stream.end(), "***");
    }
    const other = "\u001b[31mtok3\u001b[0m and n-ABC\u001b[";
    assert.equal(mask.hide(other), other);
  });

  it("hides a secret without the white space around it", () => {
    for (const end of ["\r", "\n", "\r\n", " ", "\t"]) {
      const mask = new Mask([`s3cr3t-word${end}`]);
      assert.equal(mask.hide("a s3cr3t-word, and s3cr3t-word"), "a ***, and ***");
    }
  });

  it("knows that it hides a short secret within a word, which may be none", () => {
    for (const [text, cuts] of [
      ["writes to /prod/null, prod-1", false],
      ["a long-secret-longer one", false],
      ["a product", true],
      ["Ostprod", true],
    ] as const) {
      const mask = new Mask(["prod", "long-secret-long"]);
      mask.ofStep().hide(text);
      assert.equal(mask.hidesWithinWords, cuts, text);
    }
  });

  it("leaves up to three characters alone, as a stage or a first name, and an empty value", () => {
    const text = "1 ab /dev/null, a developer";
    assert.equal(new Mask(["", "1", "ab", "dev"]).hide(text), text);
  });

  it("hides the whole of secrets that overlap", () => {
    assert.equal(new Mask(["abcd", "cdef"]).hide("xabcdefx"), "x***x");
    assert.equal(new Mask(["abcd", "abcdef"]).hide("abcdef abcd"), "*** ***");
  });

  it("shows in a stream at once what can't be part of a secret", () => {
    const stream = new Mask(["secret"]).stream();
    assert.equal(stream.write("hello se"), "hello ");
    assert.equal(stream.write("at, sec"), "seat, ");
    assert.equal(stream.write("ret!"), "***!");
    assert.equal(stream.end(), "");
  });

  it("holds back what may be a secret, and hides it where the text may have been cut within one", () => {
    const stream = new Mask(["secret"]).stream();
    assert.equal(stream.write("a sec"), "a ");
    assert.equal(stream.rest(), "***");
    assert.equal(stream.write("ret, se"), "***, ");
    assert.equal(stream.rest(), "se");
    assert.equal(stream.write("at se"), "seat ");
    assert.equal(stream.end(), "se");
  });

  it("takes no more steps than it may, whatever the secret and the text repeat", () => {
    const repeated = fc.oneof(
      fc.constantFrom("\\", "%25", "&amp;", "A\n", "AAAA\r\n", "a", "61", "\\\\u005c", "+", "ab\\"),
      fc.string({ unit: fc.constantFrom(..."\\%25&+\na\0"), minLength: 1, maxLength: 6 }),
    );
    const secret = fc
      .tuple(
        fc.oneof(repeated, fc.constant("\0")),
        fc.integer({ min: 3, max: 1000 }),
        fc.constantFrom("", "x"),
      )
      .map(([unit, times, end]) => unit.repeat(times) + end);
    const text = fc
      .tuple(repeated, fc.integer({ min: 1, max: 500 }), fc.constantFrom("", "z", "\n"))
      .map(([unit, times, end]) => (unit.repeat(times) + end).repeat(10_000).slice(0, 10_000));
    fc.assert(
      fc.property(secret, text, fc.integer({ min: 1, max: 10_000 }), (secret, text, length) => {
        const { perCharacter, perPiece, most } = searchSteps;
        const mask = new Mask([secret]);
        const stream = mask.stream();
        let shown = "";
        for (let at = 0; at < text.length; at += length) shown += stream.write(text.slice(at, at + length));
        shown += stream.end();
        const pieces = Math.ceil(text.length / length);
        const may = 3 * perCharacter * text.length + perPiece * pieces + 2 * most;
        assert.ok(stream.steps <= may, `${stream.steps} of ${may}`);
        assert.equal(shown, mask.hide(text));
        assert.ok(!shown.includes(secret));
      }),
      {
        numRuns: 25,
        examples: [
          [`${"\\".repeat(60)}x`, "\\".repeat(40_000), 7],
          [`${"\\".repeat(60)}x`, `${"\\".repeat(180)}\n`.repeat(220), 40_000],
          [`${"\\".repeat(8)}x`, "\\".repeat(16_384), 16_384],
          [String.raw`\\fileserver\share`, "\\".repeat(40_000), 40_000],
          ["\0".repeat(40), "A\n".repeat(20_000), 40_000],
          ["a".repeat(4096), "a".repeat(40_000), 40_000],
          [`${"a".repeat(4095)}b`, "a".repeat(40_000), 999],
        ],
      },
    );
  });

  it("hides the rest of a line that takes too many steps, and goes on with the next", () => {
    const mask = new Mask([`${"\\".repeat(60)}x`, "hunter2"]);
    const line = `${"\\".repeat(2000)} and more`;
    const [first, ...others] = mask.hide(`${line}\na hunter2 b`).split("\n");
    assert.match(first ?? "", /^\\*\*{3}$/);
    assert.deepEqual(others, ["a *** b"]);
  });

  it("reads a long secret to its end, also where each letter is escaped, and one that repeats itself", () => {
    const long = createHash("shake256", { outputLength: 4000 }).digest("base64url");
    const escaped = Buffer.from(long).toString("hex").replace(/../g, "%$&");
    assert.equal(new Mask([long]).hide(`a ${escaped} b ${long} c`), "a *** b *** c");
    const repeated = `${"ab".repeat(2000)}c`;
    assert.equal(new Mask([repeated]).hide(`abab${repeated}d`), "abab***d");
  });

  it("hides in a stream what it hides in a whole text, however the text is cut", () => {
    const letters = (maxLength: number, minLength = 0) =>
      fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength, maxLength });
    fc.assert(
      fc.property(
        fc.array(letters(6, 4), { maxLength: 4 }),
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

/** Any text, with more of some letters than of others. */
function textOf(letters: string): fc.Arbitrary<string> {
  const part = fc.oneof(fc.constantFrom(...letters), fc.string({ unit: "binary", maxLength: 3 }));
  return fc.array(part).map((parts) => parts.join("").toWellFormed());
}

/** Ways to write a secret together with what is around it, and all that can be read in what was written. */
const encodings: Readonly<
  Record<
    string,
    {
      encode: (before: string, secret: string, behind: string) => string;
      decode: (shown: string) => readonly string[];
    }
  >
> = {
  plain: { encode: (...parts) => parts.join(""), decode: (shown) => [shown] },
  json: {
    encode: (...parts) => JSON.stringify(parts.join("")),
    decode: (shown) => [readJson(shown)],
  },
  "json in ASCII": {
    encode: (...parts) =>
      JSON.stringify(parts.join("")).replace(
        /[^ -~]|[<>&]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
      ),
    decode: (shown) => [readJson(shown)],
  },
  "json in json": {
    encode: (...parts) => JSON.stringify(JSON.stringify(parts.join(""))),
    decode: (shown) => [readJson(readJson(shown))],
  },
  percent: {
    encode: (...parts) => encodeURIComponent(parts.join("")),
    decode: (shown) => [readPercent(shown)],
  },
  "percent in lower case": {
    encode: (...parts) => Buffer.from(parts.join("")).toString("hex").replace(/../g, "%$&"),
    decode: (shown) => [readPercent(shown)],
  },
  form: {
    encode: (...parts) => new URLSearchParams([["a", parts.join("")]]).toString(),
    decode: (shown) => [readPercent(shown.replaceAll("+", " "))],
  },
  hex: {
    encode: (...parts) => Buffer.from(parts.join("")).toString("hex"),
    decode: (shown) => shown.split(/[^\da-f]/i).map((digits) => Buffer.from(digits, "hex").toString()),
  },
  base64: {
    encode: (...parts) => Buffer.from(parts.join("")).toString("base64"),
    decode: readBase64,
  },
  "base64 for addresses": {
    encode: (...parts) => Buffer.from(parts.join("")).toString("base64url"),
    decode: readBase64,
  },
  "base64 in lines": {
    encode: (...parts) =>
      Buffer.from(parts.join(""))
        .toString("base64")
        .replace(/.{1,64}/g, "$&\r\n"),
    decode: (shown) => readBase64(shown.replaceAll("\r\n", "")),
  },
  "base64 in an address": {
    encode: (...parts) => encodeURIComponent(Buffer.from(parts.join("")).toString("base64")),
    decode: (shown) => readBase64(readPercent(shown)),
  },
};

function readJson(text: string): string {
  return text.replace(/\\(?:u([\da-f]{4})|(.))/g, (_, unit: string | undefined, letter: string) =>
    unit === undefined
      ? ({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }[letter] ?? letter)
      : String.fromCharCode(Number.parseInt(unit, 16)),
  );
}

function readPercent(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll("%", ""), "hex").toString(),
  );
}

function readBase64(text: string): string[] {
  return text
    .split(/[^\w+/-]/)
    .flatMap((letters) => [0, 1, 2, 3].map((cut) => Buffer.from(letters.slice(cut), "base64").toString()));
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
