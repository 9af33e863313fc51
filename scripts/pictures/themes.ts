/** A look of the editor: its name in a picture's file, the theme's label, and how the window tells that it has it. */
export interface Theme {
  readonly name: "dark" | "light" | "contrast";
  readonly label: string;
  readonly marker: string;
}

export const themes: readonly Theme[] = [
  { name: "dark", label: "Dark 2026", marker: "vs-dark" },
  { name: "light", label: "Light 2026", marker: "vs" },
  { name: "contrast", label: "Dark High Contrast", marker: "hc-black" },
];
