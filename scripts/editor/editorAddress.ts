import { pathToFileURL } from "node:url";

/** The address that opens `folder` of this machine in the VS Code at `url`; the token becomes a cookie there. */
export function editorAddress(
  url: string,
  token: string,
  folder: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const address = new URL(url);
  address.searchParams.set("tkn", token);
  address.searchParams.set("folder", decodeURIComponent(pathToFileURL(folder).pathname));
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  // A slash needs no escape in a query, and a person reads this.
  return address.href.replaceAll("%2F", "/");
}
