/** Why a step can't run: environment variables that aren't set. @param at where they could be set: "in `.env`". */
export function unsetText(names: readonly string[], at: string): string {
  const shown = names.map((name) => `\`${name}\``).join(", ");
  return names.length === 1
    ? `the environment variable ${shown} isn't set ${at}`
    : `the environment variables ${shown} aren't set ${at}`;
}

/** The variables that a text of {@link unsetText} names; none for any other text. */
export function unsetIn(text: string): readonly string[] {
  const [, shown = ""] =
    /(?:^|: )the environment variables? (`\w+`(?:, `\w+`)*) (?:is|are)n't set /.exec(text) ?? [];
  return shown.match(/\w+/g) ?? [];
}
