import { itOn } from "../itOn.ts";
import type { RowId } from "./rows.ts";

type Body = (this: Mocha.Context) => Promise<void>;

/** The one test of a row: its title begins with the row's name in brackets, by which the list is compared. */
export function row(id: RowId, says: string, body: Body): void {
  it(`[${id}] ${says}`, body);
}

/** The one test of a row that needs what only a POSIX system has: its signals, its shell. */
export function posixRow(id: RowId, says: string, body: Body): void {
  itOn("posix", `[${id}] ${says}`, body);
}

/** One more case of a row that has its test, such as one shape of an answer among many. */
export function rowCase(id: RowId, says: string, body: Body): void {
  it(`(${id}) ${says}`, body);
}

/** As {@link rowCase}, for what only a POSIX system has. */
export function posixRowCase(id: RowId, says: string, body: Body): void {
  itOn("posix", `(${id}) ${says}`, body);
}
