import { formatDuration } from "../../../pipeline/schema/duration.ts";
import { describeExpectation, describeStatus } from "../../../pipeline/schema/values.ts";
import type { HttpStep } from "../../../pipeline/types/http.ts";
import { describeMismatches, showValue } from "../jsonMismatches.ts";
import type { Mask } from "../mask.ts";
import { searchFor } from "../textSearch.ts";
import { type HttpReply, largestReply } from "./sendRequest.ts";

const longestExcerpt = 500;
/** How much of a reply an excerpt is made of: more than it shows, since white space is left out. */
const longestStart = 64 * 1024;

/** A reply, and where it came from, as people may be told. */
type JudgedReply = HttpReply & { readonly address: string };

/** In what a reply is not as expected, a line each; none when it is. */
export function judgeReply(
  expect: HttpStep["expect"],
  reply: JudgedReply,
  tookMilliseconds: number,
  mask: Mask,
): readonly string[] {
  return [
    ...judgeStatus(expect, reply, mask),
    ...judgeHeaders(expect, reply, mask),
    ...judgeBody(expect, reply, mask),
    ...judgeTime(expect, tookMilliseconds),
  ];
}

function judgeStatus({ status }: HttpStep["expect"], reply: JudgedReply, mask: Mask): string[] {
  if (reply.status >= status.from && reply.status <= status.to) return [];
  const excerpt = excerptOf(reply, mask);
  return [
    `expected status ${describeStatus(status)}, got ${reply.status} from ${reply.address}`,
    ...(excerpt === "" ? [] : [`the reply says: ${excerpt}`]),
  ];
}

function judgeHeaders(expect: HttpStep["expect"], reply: HttpReply, mask: Mask): string[] {
  return Object.entries(expect.headers).flatMap(([name, expected]) => {
    const got = reply.headers.get(name);
    if (got !== null && searchFor(expected)(got)) return [];
    return [
      `header ${name}: expected ${describeExpectation(expected)}, got ${got === null ? "no such header" : showValue(got, mask)}`,
    ];
  });
}

function judgeBody(expect: HttpStep["expect"], reply: HttpReply, mask: Mask): string[] {
  if (expect.json === undefined && expect.text === undefined) return [];
  if (reply.isCut)
    return [`the reply is larger than ${largestReply / 1024 / 1024} MB, the most that is looked at`];
  const lines: string[] = [];
  if (expect.text !== undefined && !searchFor(expect.text)(reply.text)) {
    lines.push(
      `expected ${describeExpectation(expect.text)} in the reply, which says: ${excerptOf(reply, mask)}`,
    );
  }
  if (expect.json !== undefined) {
    const parsed = parseJson(reply.text);
    if (parsed === undefined) {
      lines.push(`expected JSON, got: ${excerptOf(reply, mask)}`);
    } else {
      lines.push(...describeMismatches(expect.json.value, parsed.value, mask));
    }
  }
  return lines;
}

function judgeTime(expect: HttpStep["expect"], took: number): string[] {
  const { withinMilliseconds: most } = expect;
  return most === undefined || took <= most
    ? []
    : [`expected the reply within ${formatDuration(most)}, it took ${formatDuration(took)}`];
}

function excerptOf(reply: HttpReply, mask: Mask): string {
  // Masked before it is cut, or the cut could leave half of a secret.
  const start = mask.hideIn(reply.text, longestStart);
  return shorten(start.replace(/\s+/g, " ").trim(), longestExcerpt);
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
