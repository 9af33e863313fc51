/** The shop's front page: a search, and the lamps that were found. */
export function searchPage(wanted, lamps) {
  const found = lamps.length === 1 ? "1 lamp found" : `${lamps.length} lamps found`;
  return page(`  <form>
    <label>Search <input name="search" value="${escaped(wanted)}"></label>
    <button>Go</button>
  </form>
  <p role="status">${found}</p>
  <ul>${lamps.map(({ name, price }) => `<li>${escaped(name)}, ${price} €</li>`).join("")}</ul>`);
}

/** What who has ordered sees. */
export function thanksPage({ id, lamp, count }) {
  return page(`  <p role="status">Thank you for order ${id}: ${count} × ${escaped(lamp)}</p>`);
}

function page(content) {
  return `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>Lamps</title>
  <style>
    body { font: 1rem/1.6 system-ui, sans-serif; max-width: 32rem; margin: 3rem auto; color: #222; background: #fdfcf8 }
    input, button { font: inherit; padding: 0.3rem 0.7rem }
    li { margin: 0.4rem 0 }
  </style>
  <h1>Lamps</h1>
${content}
</html>
`;
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
