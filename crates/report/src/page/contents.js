// Lets the reader filter a long page: an article stays if its text has every word that is typed.

for (const nav of document.querySelectorAll("nav")) {
  const links = [...nav.querySelectorAll("li > a")];
  const articles = links.map((link) => document.getElementById(link.hash.slice(1)));
  const texts = articles.map((article) => article.textContent.toLowerCase());
  const parts = [...document.querySelectorAll(".part")];
  const field = element("input", { type: "search", placeholder: "words, in any order" });
  const count = element("span", { role: "status" });
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = texts.map((text) => words.every((word) => text.includes(word)));
    articles.forEach((article, at) => {
      article.hidden = !kept[at];
      links[at].parentElement.hidden = !kept[at];
    });
    for (const part of parts) part.hidden = words.length > 0;
    count.textContent = words.length ? `${kept.filter(Boolean).length} of ${kept.length}` : "";
  };
  field.addEventListener("input", filter);
  const label = element("label", { class: "filter" }, "Show only what has ", field, count);
  nav.prepend(label);
  if (document.querySelector(".unit")) label.after(foldingButton());
}

/** Opens all articles, or closes them. */
function foldingButton() {
  const button = element("button", { type: "button", class: "fold" }, "Open everything");
  button.addEventListener("click", () => {
    const units = [...document.querySelectorAll(".unit")];
    const open = !units.every((unit) => unit.open);
    for (const unit of units) unit.open = open;
    button.textContent = open ? "Close everything" : "Open everything";
  });
  return button;
}

/** Returns what a link within the page names. */
function named(hash) {
  return hash && document.getElementById(decodeURIComponent(hash.slice(1)));
}

/** Unfolds an article, or the one around a part of it. */
function unfold(part) {
  const unit = part && (part.closest(".unit") ?? part.querySelector(":scope > .unit"));
  if (unit) unit.open = true;
}

function unfoldNamed() {
  unfold(named(location.hash));
}

/** Follows a link within the page. */
function follow(event) {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link) return;
  // A link to where the reader already is changes nothing, and still means the article.
  if (location.protocol !== "about:") return void setTimeout(unfoldNamed);
  // In a frame without an address such a link would lead to the page around it.
  event.preventDefault();
  const part = named(link.getAttribute("href"));
  unfold(part);
  part?.scrollIntoView();
}

addEventListener("hashchange", unfoldNamed);
addEventListener("click", follow);
addEventListener("beforeprint", () => document.querySelectorAll(".unit").forEach((unit) => (unit.open = true)));
unfoldNamed();
