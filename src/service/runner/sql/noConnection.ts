/** Why a database can't be reached; its message is a plain sentence for people. */
export class NoConnection extends Error {
  override readonly name = "NoConnection";
}
