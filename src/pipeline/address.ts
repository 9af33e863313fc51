import { quoted } from "./quoted.ts";

/** Whether a target is a whole address; otherwise it is a path. */
export function isAbsolute(target: string): boolean {
  return /^https?:\/\//i.test(target);
}

/** A path goes behind the base URL whatever it begins with, so that `http://host/api` and `/health` keep the `api`. */
export function joinAddress(target: string, base: string | undefined): string {
  if (base === undefined || isAbsolute(target)) return target;
  let end = base.length;
  // An address may end with spaces, which say nothing there and would break it in its middle.
  while (end > 0 && base.charAt(end - 1) <= " ") end -= 1;
  while (base.charAt(end - 1) === "/") end -= 1;
  return `${base.slice(0, end)}/${target.replace(/^\/+/, "")}`;
}

/**
 * @param instead what to do where an address holds a user and password, as the end of a sentence.
 * @returns undefined for an address that a step can use.
 */
export function problemOfUrl(written: string, instead: string): string | undefined {
  if (!isAbsolute(written)) {
    return `\`${quoted(written)}\` is no address: it begins with http:// or https://`;
  }
  const url = URL.parse(written);
  if (url === null) return `\`${quoted(written)}\` is no address`;
  if (url.username !== "" || url.password !== "") {
    return `an address holds no user and password; ${instead}`;
  }
  return undefined;
}
