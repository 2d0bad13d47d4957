// Plots are zoomed by their view box, with the keyboard, the wheel or a finger.
for (const plot of document.querySelectorAll("svg.zoom")) {
  const whole = plot.getAttribute("viewBox").split(" ").map(Number);
  let [x, y, width, height] = whole;
  const show = () => {
    width = Math.min(width, whole[2]);
    height = Math.min(height, whole[3]);
    x = Math.min(Math.max(x, 0), whole[2] - width);
    y = Math.min(Math.max(y, 0), whole[3] - height);
    plot.setAttribute("viewBox", [x, y, width, height].join(" "));
  };
  const zoom = (factor, atX, atY) => {
    x += width * (1 - factor) * atX;
    y += height * (1 - factor) * atY;
    width *= factor;
    height *= factor;
    show();
  };
  const keys = {
    "+": () => zoom(0.7, 0.5, 0.5),
    "=": () => zoom(0.7, 0.5, 0.5),
    "-": () => zoom(1 / 0.7, 0.5, 0.5),
    0: () => { [x, y, width, height] = whole; show(); },
    ArrowLeft: () => { x -= width / 5; show(); },
    ArrowRight: () => { x += width / 5; show(); },
    ArrowUp: () => { y -= height / 5; show(); },
    ArrowDown: () => { y += height / 5; show(); },
  };
  plot.addEventListener("keydown", (event) => {
    const key = keys[event.key];
    // Arrows scroll the page while there is nothing to move.
    if (!key || event.ctrlKey || event.metaKey) return;
    if (event.key.startsWith("Arrow") && width === whole[2]) return;
    event.preventDefault();
    key();
  });
  plot.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = plot.getBoundingClientRect();
    const at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    zoom(event.deltaY < 0 ? 0.85 : 1 / 0.85, ...at);
  }, { passive: false });
  let last = null;
  plot.addEventListener("pointerdown", (event) => { if (width < whole[2]) last = event; });
  plot.addEventListener("pointermove", (event) => {
    if (!last) return;
    const scale = width / plot.getBoundingClientRect().width;
    x -= (event.clientX - last.clientX) * scale;
    y -= (event.clientY - last.clientY) * scale;
    last = event;
    show();
  });
  for (const end of ["pointerup", "pointerleave"]) plot.addEventListener(end, () => { last = null; });
}
