/** How many runs `pipeline runs list` lists when nobody says. */
export const listedByDefault = 20;
