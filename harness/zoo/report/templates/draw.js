"use strict";
(() => {
  const { theme, templates, sets, figures } = JSON.parse(document.getElementById("data").textContent);
  const unpacked = ({ values, words, places }) => values ?? places.map((place) => words[place]);
  const rowsOf = (set) => {
    const columns = Object.entries(set).map(([name, column]) => [name, unpacked(column)]);
    return columns[0][1].map((_, row) => Object.fromEntries(columns.map(([name, column]) => [name, column[row]])));
  };
  const specOf = ([template, set, height, settings]) => ({
    ...templates[template],
    height,
    datasets: { points: rowsOf(sets[set]) },
    params: Object.entries(settings).map(([name, value]) => ({ name, value })),
  });
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    actions: false,
    logLevel: 1, // errors: a layer without figures, such as intervals of a single round, is no fault
    ast: true, // expressions are interpreted: the page's policy forbids code made at run time
    config: theme,
    tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" },
  };

  const draw = async (box) => {
    if (box.dataset.state) return;
    box.dataset.state = "drawing";
    const place = document.createElement("div");
    place.className = "drawn";
    place.ariaHidden = "true"; // one picture with a description, not marks read one by one
    place.style.cssText = `position:absolute;visibility:hidden;width:${box.clientWidth}px`;
    box.append(place);
    try {
      await vegaEmbed(place, specOf(figures[box.dataset.chart]), options);
      place.style.cssText = "";
      box.replaceChildren(place);
      box.dataset.state = "drawn";
    } catch (error) {
      place.style.cssText = "";
      place.textContent = `This chart could not be drawn: ${error.message}`;
      box.dataset.state = "failed";
      console.error(error);
    }
  };

  // First what is seen, then the rest while nothing else is to be done: a print or a search then finds all of it.
  const boxes = [...document.querySelectorAll("[data-chart]")];
  const seen = new IntersectionObserver(
    (changes) => changes.filter((c) => c.isIntersecting).forEach((c) => { seen.unobserve(c.target); draw(c.target); }),
    { rootMargin: "300px" },
  );
  boxes.forEach((box) => seen.observe(box));
  const idle = window.requestIdleCallback ?? ((call) => setTimeout(call, 50));
  const rest = boxes.filter((box) => !box.closest("details:not([open])"));
  const next = async () => {
    const box = rest.shift();
    if (!box) { document.documentElement.dataset.drawn = "all"; return; }
    await draw(box);
    idle(next);
  };
  idle(next);
})();
