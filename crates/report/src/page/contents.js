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
  nav.prepend(element("label", { class: "filter" }, "Show only what has ", field, count));
}
