import { originOf, type Target } from "../target.ts";

export interface LookUpDeps {
  readonly target: () => Target;
  /** The entered key in use for an origin. */
  readonly keys: { get(origin: string): Thenable<string | undefined> };
}

/** What a service is followed with. */
export interface Used {
  readonly where: Target;
  /** The same for the same service. */
  readonly address: string;
  /** The key that somebody has entered. */
  readonly key: string | undefined;
}

/** The service and the entered key that are to be used now. */
export async function lookUp({ target, keys }: LookUpDeps): Promise<Used> {
  const where = target();
  const address = where.kind === "remote" ? where.baseUrl.href : where.kind;
  const key = where.kind === "invalid" ? undefined : await keys.get(originOf(where));
  return { where, address, key };
}
