import * as z from "zod/mini";

const aStatus = "expected a status from 100 to 599, or a kind of status such as 2xx";

/** A status that is expected of an HTTP reply, as the file writes it: `404`, `2xx`. */
export const statusFileSchema = z.union(
  [
    z.int(aStatus).check(z.minimum(100, aStatus), z.maximum(599, aStatus)),
    z.string().check(z.regex(/^[1-5]xx$/, aStatus)),
  ],
  aStatus,
);

/** Both ends belong to the range. */
export const statusRangeSchema = z.object({ from: z.int(), to: z.int() });

export type StatusRange = Readonly<z.infer<typeof statusRangeSchema>>;

export function readStatus(written: string | number): StatusRange {
  if (typeof written === "number") return { from: written, to: written };
  const hundred = Number(written.slice(0, 1)) * 100;
  return { from: hundred, to: hundred + 99 };
}

/** The range as the file writes it. */
export function describeStatus({ from, to }: StatusRange): string {
  return from === to ? `${from}` : `${Math.floor(from / 100)}xx`;
}
