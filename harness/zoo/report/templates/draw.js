"use strict";
(() => {
  const { theme, templates, sets, figures } = JSON.parse(document.getElementById("data").textContent);
  const unpacked = ({ values, words, places }) => values ?? places.map((place) => words[place]);
  const rowsOf = (set) => {
    const columns = Object.entries(set).map(([name, column]) => [name, unpacked(column)]);
    return columns[0][1].map((_, row) => Object.fromEntries(columns.map(([name, column]) => [name, column[row]])));
  };
  // The selected values of a page's filter by the name of the select; empty selects all.
  let wanted = {};
  const kept = (row) => {
    const [, server, variant] = /^([\w-]+):([\w-]+)/.exec(row.entry ?? "") ?? [];
    const its = { server, variant, tier: row.tier };
    return Object.entries(wanted).every(([name, value]) => !value || !its[name] || its[name] === value);
  };
  // On a phone, the names of rows are above their marks, because to the left they would take half of the width.
  const NARROW = 480;
  const above = { labelAlign: "left", labelBaseline: "bottom", labelPadding: 0, labelOffset: -8, labelLimit: NARROW };
  const narrow = { axisYBand: above, axisYPoint: above };
  const placesOf = (rows) => [...new Set(rows.map((row) => row.place))].sort((a, b) => a - b);
  const specOf = ([template, set, height, settings], width) => {
    const all = rowsOf(sets[set]);
    const rows = all.filter(kept);
    const places = placesOf(rows);
    const placed = all[0].place !== undefined;
    const stacked = placed && width < NARROW;
    return {
      ...templates[template],
      height: placed ? ((stacked ? 2 : 1) * height * places.length) / placesOf(all).length : height,
      ...(stacked && { config: narrow }),
      datasets: { points: placed ? rows.map((row) => ({ ...row, place: places.indexOf(row.place) })) : rows },
      params: Object.entries(settings).map(([name, value]) => ({ name, value })),
    };
  };
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    actions: false,
    logLevel: 1, // errors only: a layer may have no figures, such as the intervals of a single round
    ast: true, // interpret expressions, because the page's policy forbids code that is generated at run time
    config: theme,
    tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" },
  };

  const draw = async (box) => {
    if (box.dataset.state || !box.clientWidth) return;
    box.dataset.state = "drawing";
    const place = document.createElement("div");
    place.className = "drawn";
    place.ariaHidden = "true"; // a screen reader reads the description, not each mark
    place.style.cssText = `position:absolute;visibility:hidden;width:${box.clientWidth}px`;
    box.append(place);
    try {
      await vegaEmbed(place, specOf(figures[box.dataset.chart], box.clientWidth), options);
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

  // Draw the visible charts first and the others when the browser is idle, so that printing and searching include all.
  const boxes = [...document.querySelectorAll("[data-chart]")];
  const seen = new IntersectionObserver(
    (changes) => changes.filter((c) => c.isIntersecting).forEach((c) => { seen.unobserve(c.target); draw(c.target); }),
    { rootMargin: "300px" },
  );
  boxes.forEach((box) => seen.observe(box));
  const asked = (names) => Object.values(names).some(Boolean);
  document.addEventListener("filtered", ({ detail }) => {
    if (!asked(wanted) && !asked(detail)) return; // no filter before or after: nothing changes
    wanted = detail;
    for (const box of boxes) {
      const figure = box.closest("figure");
      if (!rowsOf(sets[figures[box.dataset.chart][1]]).some(kept)) figure.hidden = true;
      if (box.dataset.state === "drawn" && !figure.hidden) {
        delete box.dataset.state;
        draw(box);
      }
    }
  });
  const idle = window.requestIdleCallback ?? ((call) => setTimeout(call, 50));
  let rest = [];
  const next = async () => {
    const box = rest.shift();
    if (!box) { document.documentElement.dataset.drawn = "all"; return; }
    await draw(box);
    idle(next);
  };
  const drawRest = () => {
    rest = boxes.filter((box) => !box.dataset.state && !box.closest("details:not([open])"));
    delete document.documentElement.dataset.drawn;
    idle(next);
  };
  document.addEventListener("unfolded", drawRest);
  drawRest();
})();
