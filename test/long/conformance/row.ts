import { itOn } from "../../itOn.ts";

type Body = (this: Mocha.Context) => Promise<void>;

/** The one test of a row, or of several rows that say the same: its title begins with each row's name in brackets. */
export function row(ids: string | readonly string[], says: string, body: Body): void {
  it(
    `${[ids]
      .flat()
      .map((id) => `[${id}]`)
      .join(" ")} ${says}`,
    body,
  );
}

/** The one test of a row that needs what only a POSIX system has: its signals, its shell. */
export function posixRow(id: string, says: string, body: Body): void {
  itOn("posix", `[${id}] ${says}`, body);
}

/** One more case of a row that has its test, such as one shape of an answer among many. */
export function rowCase(id: string, says: string, body: Body): void {
  it(`(${id}) ${says}`, body);
}

/** As {@link rowCase}, for what only a POSIX system has. */
export function posixRowCase(id: string, says: string, body: Body): void {
  itOn("posix", `(${id}) ${says}`, body);
}
