{% include "draw.js" %}
"use strict";
(() => {
  const { records, marks } = JSON.parse(document.getElementById("data").textContent);

  const sort = (table, head, column) => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    table.querySelectorAll("th[aria-sort]").forEach((th) => th.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[column];
      if (cell.dataset.order !== undefined) return Number(cell.dataset.order);
      const text = cell.textContent.trim();
      return text === "–" ? null : text;
    };
    const compare = (a, b) => {
      if (a === null || b === null) return (a === null) - (b === null); // rows without a figure come last
      const order = typeof a === "number" ? a - b : a.localeCompare(b, "en");
      return up ? order : -order;
    };
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => compare(a, b));
    body.append(...rows.map(([, row]) => row));
  };
  const sortable = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, head, column));
      head.replaceChildren(button);
    });
  };

  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const shown = (value) => (value === null ? "–" : value.toLocaleString("en", { maximumSignificantDigits: 4 }));
  const fileName = (pattern, [entry, scenario, tier, round]) =>
    pattern
      .replace("{0}", () => `${entry.replaceAll(":", "-")}-${scenario.replaceAll(" ", "-")}`)
      .replace("{1}", () => `-${tier}-r${round}`)
      .replace("{2}", () => `-r${round}`);
  const recordRow = (row, index) => {
    const made = element("tr", { id: `r${index + 1}` });
    made.append(element("td", { className: "n" }, String(index + 1)));
    row.slice(0, -1).forEach((value, column) => {
      const cell = element(column ? "td" : "th", { className: column > 2 ? "n" : "" });
      cell.textContent = column > 2 ? shown(value) : (marks[value] ?? value);
      if (column > 2 && value !== null) cell.dataset.order = value;
      made.append(cell);
    });
    made.cells[0].dataset.order = index + 1;
    made.cells[1].scope = "row";
    const links = row.at(-1).map((place) => {
      const name = fileName(records.files[place], row);
      return element("a", { href: encodeURI(name) }, /histogram|samples|threads/.exec(name)?.[0] ?? "log");
    });
    made.append(element("td", {}, ...links.flatMap((link) => [link, " "])));
    return made;
  };
  const fillRecords = () => {
    const table = document.getElementById("records-table");
    if (table.tHead) return;
    const heads = ["line", ...records.columns, "raw files"];
    const words = new Set(["entry", "scenario", "tier", "raw files"]);
    const head = table.createTHead().insertRow();
    head.append(...heads.map((name) => element("th", { scope: "col", className: words.has(name) ? "" : "n" }, name)));
    table.createTBody().append(...records.rows.map(recordRow));
    sortable(table);
  };
  document.getElementById("records-all").addEventListener("toggle", fillRecords);

  // The filter applies to all elements with a server, variant, tier or scenario; the charts listen to the event.
  const form = document.querySelector("form.filter");
  const cells = document.getElementById("cells-table");
  const names = ["server", "variant", "tier", "scenario"];
  const marked = [...document.querySelectorAll(names.map((name) => `main [data-${name}]`).join())];
  const filter = () => {
    const selects = [...form.querySelectorAll("select")];
    const wanted = Object.fromEntries(selects.map((select) => [select.dataset.filter, select.value]));
    const other = (name, its) => wanted[name] && its[name] && its[name] !== wanted[name];
    for (const element of marked) element.hidden = names.some((name) => other(name, element.dataset));
    const rows = cells ? [...cells.tBodies[0].rows] : [];
    if (cells) form.querySelector("output").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} cells`;
    document.dispatchEvent(new CustomEvent("filtered", { detail: wanted }));
  };
  // The filter is part of the address, such as #server=java-vertx&tier=1k, so that a view can be shared.
  const readAddress = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const select of form.querySelectorAll("select")) {
      const value = wanted.get(select.dataset.filter);
      select.value = [...select.options].some((option) => option.value === value) ? value : "";
    }
    filter();
  };
  const writeAddress = () => {
    const wanted = [...form.querySelectorAll("select")].map((select) => [select.dataset.filter, select.value]);
    const text = new URLSearchParams(wanted.filter(([, value]) => value)).toString();
    history.replaceState(null, "", text ? `#${text}` : location.href.split("#")[0]);
    filter();
  };
  if (cells) sortable(cells);
  form.hidden = false;
  if (form.querySelector("select")) {
    form.addEventListener("change", writeAddress);
    form.querySelector("[type=reset]").addEventListener("click", (event) => {
      event.preventDefault(); // the event "reset" fires before the selects have changed
      form.reset();
      writeAddress();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", () => location.hash.includes("=") && readAddress());
    readAddress();
  }
  document.querySelector("[data-open]").addEventListener("click", () => {
    document.querySelectorAll("main details").forEach((details) => details.setAttribute("open", ""));
    document.dispatchEvent(new CustomEvent("unfolded"));
  });

  // Expand the part that a link points to, and the details that contain the record or failure.
  const unfold = () => {
    if (/^#r\d+$/.test(location.hash)) fillRecords();
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    target.querySelector(":scope > details")?.setAttribute("open", "");
    for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
