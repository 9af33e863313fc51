import { holdsSecret } from "../apiSecret.ts";

/** Where someone goes who asked for nothing else. */
export const startPath = "/app/runs";

/** Where to go after signing in: a path of the page, whatever was asked for, and no key that was taken for one. */
export function nextPath(asked: string | undefined): string {
  const base = "http://page.invalid";
  if (asked === undefined || !asked.startsWith("/") || !URL.canParse(asked, base)) return startPath;
  const { origin, pathname, search } = new URL(asked, base);
  const path = `${pathname}${search}`;
  return origin === base && /^\/app\/runs(\/|$)/.test(pathname) && !hidesSecret(path) ? path : startPath;
}

function hidesSecret(path: string): boolean {
  try {
    return holdsSecret(decodeURIComponent(path));
  } catch {
    return holdsSecret(path);
  }
}
