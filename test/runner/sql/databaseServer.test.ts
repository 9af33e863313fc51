import assert from "node:assert/strict";
import { readDatabaseUrl } from "../../../src/pipeline/types/databaseUrl.ts";
import { databaseServer } from "../../../src/runner/sql/databaseServer.ts";

describe("the user of a database's address", () => {
  const userOf = async (url: string, ownName: () => string) => {
    const read = readDatabaseUrl(url);
    assert.ok(read.kind === "valid" && "host" in read.database);
    return (await databaseServer(read.database, "/", ownName)).user;
  };
  // As Node does in a container, for a user that has a number only.
  const nameless = () => {
    throw new Error("uv_os_get_passwd returned ENOENT");
  };

  it("is the one who runs the step where it names none", async () => {
    assert.equal(await userOf("postgres://127.0.0.1/shop", () => "ada"), "ada");
    assert.equal(await userOf("postgres://bob@127.0.0.1/shop", nameless), "bob");
  });

  it("has to be named where the system has no name for who runs the step", async () => {
    for (const url of ["postgres://127.0.0.1/shop", "mysql://127.0.0.1/shop"]) {
      await assert.rejects(
        userOf(url, nameless),
        /^StepFault: the database's address has no user, and this machine has no name for the one who runs this; write one before the host: `ada@`$/,
      );
    }
  });
});
