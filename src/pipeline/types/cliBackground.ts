import * as z from "zod/mini";
import { problemOfPort, problemOfReadyAddress } from "../file/address.ts";
import { expectedText, field, noneByDefault } from "../file/fieldTexts.ts";
import { readAllExpected, readTimeLimit, type StepReading, writtenText } from "../file/readValues.ts";
import { hasExpression } from "../file/textPieces.ts";
import { expectedWords, nonEmpty, type TextExpectation, timeoutField, words } from "../file/values.ts";

/** The fields of a cli step whose program goes on while later steps run. */

export const backgroundFile = {
  background: field(z.boolean(), {
    meaning:
      "Whether the program goes on while later steps run, as a server does: the step succeeds once it is `ready`, and the program is ended with the run.",
    byDefault: "`false`",
    values: ["true"],
  }),
  ready: field(
    z.strictObject(
      {
        port: field(words, {
          meaning: "It takes connections on this port of this machine.",
          byDefault: "none",
          bounds: "from `1` to `65535`",
          values: ["8080"],
        }),
        output: noneByDefault(expectedWords, `What it has printed: ${expectedText}.`),
        http: field(nonEmpty, {
          meaning:
            "This address answers with a status from 200 to 299. Redirects are followed, and a certificate isn't checked.",
          byDefault: "none",
          bounds: "begins with `http://` or `https://`",
          values: ["http://127.0.0.1:8080/health"],
        }),
        within: timeoutField(
          "How long it may take to be ready. After that it is ended, and the step fails.",
          "`20s`",
        ),
      },
      "expected what shows it, such as `{ port: 8080 }` or `{ output: is open }`",
    ),
    {
      meaning: "What shows that a program in the background is ready: all that stands here.",
      byDefault: "that it has started",
    },
  ),
};

const fileSchema = z.object(backgroundFile);

/** A program in the background, and what shows that it is ready; all of it has to. */
export interface Background {
  readonly port?: string | undefined;
  readonly output?: readonly TextExpectation[] | undefined;
  readonly http?: string | undefined;
  readonly withinMilliseconds: number;
}

/** Shorter than a run's time limit, so that the message says what is missing. */
const readyByDefault = 20_000;

/** @returns undefined for a step that waits for its program's end. */
export function readBackground(
  { background, ready }: z.infer<typeof fileSchema>,
  reading: StepReading,
): Background | undefined {
  const { path, problems, source } = reading;
  if (background !== true) {
    if (ready !== undefined) {
      problems.addToName(
        [...path, "ready"],
        "only a program with `background: true` is waited for like this",
      );
    }
    return undefined;
  }
  const { port, output, http, within } = ready ?? {};
  if (ready !== undefined && port === undefined && output === undefined && http === undefined) {
    problems.add([...path, "ready"], "`ready` needs `port`, `output` or `http`");
  }
  const at = (field: keyof NonNullable<typeof ready>) => [...path, "ready", field];
  const check = (field: "port" | "http", text: string | undefined, problemOf: typeof problemOfPort) => {
    const problem = text === undefined || hasExpression(text) ? undefined : problemOf(text);
    if (problem !== undefined) problems.add(at(field), problem);
  };
  const portText = port === undefined ? undefined : writtenText(port, at("port"), source);
  check("port", portText, problemOfPort);
  check("http", http, problemOfReadyAddress);
  return {
    ...(portText !== undefined && { port: portText }),
    ...(output !== undefined && { output: readAllExpected(output, at("output"), reading) }),
    ...(http !== undefined && { http }),
    withinMilliseconds: within === undefined ? readyByDefault : readTimeLimit(within, at("within"), problems),
  };
}
