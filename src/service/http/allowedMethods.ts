import type { RouterRoute } from "hono/types";

/** The methods that a path is there for, as the routes are written (`:name` is any one part); none where it isn't. */
export function allowedMethods(
  routes: readonly Pick<RouterRoute, "method" | "path">[],
  path: string,
): string[] {
  const methods = routes
    .filter((route) => route.method !== "ALL" && fits(route.path, path))
    .map(({ method }) => method);
  // Whatever can be read can be asked for without its body.
  return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))].sort();
}

function fits(pattern: string, path: string): boolean {
  const parts = pattern.split("/");
  const asked = path.split("/");
  return (
    parts.length === asked.length &&
    parts.every((part, position) =>
      part.startsWith(":") ? asked[position] !== "" : part === asked[position],
    )
  );
}
