// Builds a chapter's figure when the reader comes near it, and goes where the address says.

const built = new Map();
let lists = null;

async function build(section, given = {}) {
  const id = section.id.replace("chapter-", "");
  if (built.has(id)) return built.get(id);
  const plan = PLANS.find((it) => it.id === id);
  const making = (async () => {
    lists ??= await workers.ask({ ask: "lists" });
    return new Chapter(section, plan, lists, given);
  })();
  built.set(id, making);
  return making;
}

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    build(target);
  }
}, { rootMargin: "400px" });

/** Goes to the chapter of an address, and gives it the address's values. */
async function go() {
  const { chapter, given } = named(location.hash);
  const section = chapter && document.getElementById(`chapter-${chapter}`);
  if (!section) return;
  const isNew = !built.has(chapter);
  const made = await build(section, given);
  if (!isNew) made.change({ ...made.begin, ...valuesOf(given, made.begin) });
  section.scrollIntoView();
  section.querySelector("h2").focus({ preventScroll: true });
}

for (const section of document.querySelectorAll(".chapter")) near.observe(section);
addEventListener("hashchange", () => location.hash.startsWith("#play/") && go());
if (location.hash.startsWith("#play/")) go();
