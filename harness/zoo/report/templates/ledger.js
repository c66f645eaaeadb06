"use strict";
(() => {
  const form = document.querySelector("form.filter");
  const claims = [...document.querySelectorAll("details.claim")];
  const filter = () => {
    const wanted = [...form.querySelectorAll("select")].map((select) => [select.dataset.filter, select.value]);
    for (const claim of claims) claim.hidden = !wanted.every(([name, value]) => !value || claim.dataset[name] === value);
    const seen = claims.filter((claim) => !claim.hidden);
    for (const part of document.querySelectorAll(".article")) part.hidden = !seen.some((claim) => part.contains(claim));
    form.querySelector("output").textContent = `${seen.length} of ${claims.length} claims`;
  };
  const openAll = () => {
    const seen = claims.filter((claim) => !claim.hidden);
    const open = seen.some((claim) => !claim.open);
    seen.forEach((claim) => { claim.open = open; });
  };
  form.hidden = false;
  form.addEventListener("change", filter);
  form.querySelector("[type=reset]").addEventListener("click", (event) => {
    event.preventDefault(); // the event "reset" fires before the selects have changed
    form.reset();
    filter();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("[data-open]").addEventListener("click", openAll);
  filter();

  // Expand the claim that a link points to.
  const unfold = () => {
    const target = claims.find((claim) => `#${claim.id}` === location.hash);
    if (target) target.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
