import { quoted } from "../quoted.ts";

/** @returns undefined for an address that an http step can use. */
export function problemOfUrl(written: string): string | undefined {
  if (!/^https?:\/\//i.test(written)) {
    return `\`${quoted(written)}\` is no address: it begins with http:// or https://`;
  }
  const url = URL.parse(written);
  if (url === null) return `\`${quoted(written)}\` is no address`;
  if (url.username !== "" || url.password !== "") {
    return "an address holds no user and password; send them in an `authorization` header";
  }
  return undefined;
}
