// What a reader moves: sliders, choices and switches, each with its name and its value in words.

/** A slider over a list of values, or from one number to another. */
function slider({ label, from, to, step, values, said = grouped }, value, moved) {
  const of = (raw) => (values ? values[Number(raw)] : Number(raw));
  const place = values ? Math.max(0, values.indexOf(value)) : value;
  const input = element("input", {
    type: "range", min: values ? 0 : from, max: values ? values.length - 1 : to, step: values ? 1 : step, value: place,
  });
  const output = element("output", {}, said(value));
  const tell = () => {
    output.textContent = said(of(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  tell();
  input.addEventListener("input", () => {
    tell();
    moved(of(input.value));
  });
  const made = element("label", { class: "slider" }, element("span", {}, label), output, input);
  made.set = (next) => {
    input.value = values ? Math.max(0, values.indexOf(next)) : next;
    tell();
  };
  return made;
}

function choice({ label, options }, value, chosen) {
  const select = element("select", {}, ...options.map(({ value, text }) => element("option", { value }, text)));
  select.value = value;
  select.addEventListener("change", () => chosen(select.value));
  const made = element("label", { class: "choice" }, element("span", {}, label), select);
  made.set = (next) => (select.value = next);
  return made;
}

/** A few values of which one is pressed. */
function buttons({ label, options }, value, chosen) {
  const made = element("div", { class: "buttons", role: "group", "aria-label": label }, element("span", {}, label));
  const all = options.map(({ value, text }) => {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", () => chosen(value));
    made.append(button);
    return [value, button];
  });
  made.set = (next) => all.forEach(([value, button]) => button.setAttribute("aria-pressed", value === next));
  made.set(value);
  return made;
}

const KINDS = { slider, choice, buttons };

/** The controls of a chapter, which stay in step with its values. */
class Controls {
  constructor(place, list, values, changed) {
    this.list = list.map((it) => {
      const made = KINDS[it.kind](it, values[it.key], (value) => changed({ [it.key]: value }));
      if (it.title) made.title = it.title;
      place.append(made);
      return { key: it.key, made };
    });
  }

  set(values) {
    for (const { key, made } of this.list) made.set(values[key]);
  }
}
