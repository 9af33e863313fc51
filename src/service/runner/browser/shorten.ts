/** A text on one line, cut short. What may hold a secret is masked before: a cut could leave half of it. */
export function shorten(masked: string, most: number): string {
  const line = masked.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}
