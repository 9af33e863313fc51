// biome-ignore-all lint/suspicious/noTemplateCurlyInString: values as pipeline files write them.
import * as z from "zod/mini";
import { needed } from "../file/fieldTexts.ts";
import type { ProblemList } from "../file/problemList.ts";
import { type StepReading, writtenText } from "../file/readValues.ts";
import { hasExpression } from "../file/textPieces.ts";
import { words } from "../file/values.ts";
import type { Path } from "../file/yamlSource.ts";
import { type Auth, userWithColon } from "./httpStep.ts";

/** The user and password of HTTP Basic, as resources and steps write them. */
export const authFileSchema = z.strictObject({
  basic: needed(
    z.strictObject({
      user: needed(words, { meaning: "The user's name, without a colon." }),
      password: needed(words, {
        meaning: "The password, out of the environment.",
        values: ['"${{ env.SHOP_PASSWORD }}"'],
      }),
    }),
    { meaning: "A user and password, sent as an `authorization` header." },
  ),
});

/** A resource or a step. */
interface WithAuth {
  readonly auth?: z.infer<typeof authFileSchema> | undefined;
}

/** What to do with a user and password instead of writing them into an address. */
export const insteadOfPassword = "send them by `auth`";

/** @param path the resource's or the step's. */
export function checkAuth({ auth }: WithAuth, path: Path, problems: ProblemList): void {
  const user = auth?.basic.user;
  if (typeof user === "string" && user.includes(":") && !hasExpression(user))
    problems.add([...path, "auth", "basic", "user"], userWithColon);
}

/** @param path the resource's or the step's. */
export function readAuth({ auth }: WithAuth, path: Path, source: StepReading["source"]): Auth {
  if (auth === undefined) return undefined;
  const at = [...path, "auth", "basic"];
  return {
    user: writtenText(auth.basic.user, [...at, "user"], source),
    password: writtenText(auth.basic.password, [...at, "password"], source),
  };
}
