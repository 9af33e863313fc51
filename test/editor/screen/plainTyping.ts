/** Settings of a window whose editor takes what is typed as it is, and closes no bracket by itself. */
export const plainTyping = {
  "editor.autoClosingBrackets": "never",
  "editor.autoClosingQuotes": "never",
} as const;
