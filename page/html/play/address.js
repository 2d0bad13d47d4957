// A setting is an address: #play/CHAPTER?key=value&... names a chapter and what differs from its beginning.

const ADDRESS_MS = 250; // after the last change; browsers refuse to be told more often

/** What an address names: { chapter, given }. */
function named(hash) {
  const [place, query = ""] = hash.slice(1).split("?");
  const [, chapter = ""] = place.split("/");
  return { chapter, given: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a chapter with these values. */
function addressOf(chapter, values, begin) {
  const changed = Object.entries(values).filter(([key, value]) => value !== begin[key]);
  const query = new URLSearchParams(changed).toString();
  return `#play/${chapter}${query ? `?${query}` : ""}`;
}

/** The values that an address gives, as far as a chapter has them; each keeps the type it has at the beginning. */
function valuesOf(given, begin) {
  const values = { ...begin };
  for (const [key, text] of Object.entries(given)) {
    if (!Object.hasOwn(begin, key)) continue;
    const value = typeof begin[key] === "number" ? Number(text) : text;
    if (typeof value !== "number" || Number.isFinite(value)) values[key] = value;
  }
  return values;
}

let telling = null;

function tellAddress(address) {
  clearTimeout(telling);
  telling = setTimeout(() => history.replaceState(null, "", address), ADDRESS_MS);
}
