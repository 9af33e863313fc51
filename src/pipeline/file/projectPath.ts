/** Whether a path of the file leads out of the project's folder, as it is written; a link may do so as well. */
export function leadsOut(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path) || path.split(/[/\\]/).includes("..");
}
