/** The shells that the tool's words can be completed in. */
export const shells = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof shells)[number];

/** What the shells' scripts call the tool with when Tab is pressed; no command that a person types. */
export const tabWord = "__complete";
