/**
 * What no text from elsewhere may bring to a terminal or a screen, as the inside of a regular expression's class (with
 * the flag `u`): control characters, which could drive it; line and paragraph separators; and what turns the direction of
 * writing or the shapes of letters, which makes a text read as another. Not those that join letters and emoji.
 */
export const unshown = String.raw`\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f`;
