import { Mask } from "../../../src/service/runner/mask.ts";
import { must } from "../engine/broken.ts";
import { seededRandom, seedOf } from "../engine/random.ts";
import type { Target } from "../engine/target.ts";

export const maskTarget: Target = {
  name: "mask",
  property: "no secret is seen in what is shown of a text, however it is cut and whenever it pauses",
  covers: [
    "src/service/runner/mask.ts",
    "src/service/runner/escapedText.ts",
    "src/service/runner/secretSearch.ts",
    "src/service/runner/secretSearch.ts",
  ],
  seeds: [
    "hunter2\n\npassword hunter2 and hunter2hunter2 or hunte",
    "aXaXaY|XaX\n\naXaXaXaXaYaXaX",
    "postgres://me:s%40cr3t@db/x\n\ns@cr3t s%40cr3t postgres://me:s%40cr3t@db/x",
    '-----BEGIN-----|line "two"\\n|aaa\n\n"line \\"two\\"\\\\n" -----BEGIN-----aaaa',
  ],
  words: ["aa", "ab", "|", "hunter", "\n\n", "***", "é", "%40", "&toString;", "&amp;", "\\\\"],
  longest: 2 * 1024,
  mostSteps: ({ length }) => 200_000 + length * length * 40,
  open: () => ({ check }),
};

/** The secrets are the parts of the first line between bars, the rest is the text. */
function check(input: string): void {
  const end = input.indexOf("\n\n");
  const values = (end === -1 ? input : input.slice(0, end)).split("|").slice(0, 6);
  const text = end === -1 ? "" : input.slice(end + 2);
  const mask = new Mask(values);
  // What consists of stars alone can't be told from what hides it.
  const secrets = values.filter((value) => value.length >= 3 && !/^\**$/.test(value));
  const whole = mask.hide(text);
  checkHidden(whole, secrets, text, "whole");
  const random = seededRandom(seedOf(input));
  for (let time = 0; time < 3; time++) {
    const pauses = time === 2;
    const stream = mask.stream();
    let shown = "";
    for (let at = 0; at < text.length; ) {
      const length = 1 + random.below(time === 0 ? 3 : 12);
      shown += stream.write(text.slice(at, at + length));
      if (pauses && random.oneIn(3)) shown += stream.pause();
      const rest = shown + stream.rest();
      if (!pauses) checkHidden(rest, secrets, text, "the rest");
      at += length;
    }
    shown += stream.end();
    if (!pauses)
      must(shown === whole, "what is shown is the same however it was cut", () => ({ shown, whole }));
    checkHidden(shown, secrets, text, pauses ? "with pauses" : "in pieces");
  }
}

function checkHidden(shown: string, secrets: readonly string[], text: string, how: string): void {
  for (const secret of secrets) {
    // Where stars stand for something, what is left beside them may spell a secret that has stars in it.
    if (secret.includes("*")) continue;
    must(!shown.includes(secret), "no secret is shown", () => ({ how, secret, shown, text }));
  }
}
