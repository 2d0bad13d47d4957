// Which view is shown: the address says it, so that it can be kept and sent.

const views = [...document.querySelectorAll(".view")];

function showView() {
  const [name] = location.hash.slice(1).split(/[?/]/);
  const chosen = views.find((it) => it.id === name) ?? views[0];
  const isOther = chosen.hidden;
  for (const it of views) it.hidden = it !== chosen;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.hash === `#${chosen.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (isOther && !location.hash.includes("/")) scrollTo(0, 0);
}

addEventListener("hashchange", showView);
showView();
