/** Where someone goes who asked for nothing else. */
export const startPath = "/app/runs";

/** Where to go after signing in: a path of the page, whatever was asked for. */
export function nextPath(asked: string | undefined): string {
  const base = "http://page.invalid";
  if (asked === undefined || !asked.startsWith("/") || !URL.canParse(asked, base)) return startPath;
  const { origin, pathname, search } = new URL(asked, base);
  return origin === base && /^\/app\/runs(\/|$)/.test(pathname) ? `${pathname}${search}` : startPath;
}
