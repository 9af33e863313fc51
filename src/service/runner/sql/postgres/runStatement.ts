import pg from "pg";
import { type ReadRows, RowReader } from "../rowReader.ts";
import type { SqlWork } from "../sqlConnection.ts";
import { jsonToPostgres, postgresToJson } from "./postgresValue.ts";

/**
 * Runs one statement, row by row as the server sends them.
 *
 * @throws what the server says of it.
 */
export function runStatement(
  client: pg.Client,
  { params, text }: SqlWork["statements"][number],
): Promise<ReadRows> {
  const reader = new RowReader();
  const { promise, resolve, reject } = Promise.withResolvers<ReadRows>();
  const config = {
    text,
    values: params.map(jsonToPostgres),
    types: { getTypeParser: () => (value: string) => value },
    rowMode: "array",
    // In this mode the server takes one statement only, with or without parameters.
    queryMode: "extended",
  };
  const query = new pg.Query<unknown[]>(config);
  let types: readonly number[] | undefined;
  query.on("row", (row, result) => {
    if (types === undefined) {
      const fields = result?.fields ?? [];
      types = fields.map(({ dataTypeID }) => dataTypeID);
      reader.begin(fields.map(({ name }) => name));
    }
    reader.add(row, (value, column) => postgresToJson(value, types?.[column] ?? 0));
  });
  query.on("error", reject);
  query.on("end", ({ rowCount }) => resolve(reader.end(rowCount ?? 0)));
  client.query(query);
  return promise;
}
