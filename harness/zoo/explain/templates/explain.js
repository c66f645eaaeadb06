const { tree, a, b } = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph"), details = document.getElementById("details");
const us = value => `${value < 10 ? value.toPrecision(3) : value.toFixed(1)} µs`;
const signed = value => `${value < 0 ? "−" : "+"}${us(Math.abs(value))}`;
const describe = ({ data }) =>
  `${data.name}: ${us(data.a)} in ${a}, ${us(data.b)} in ${b} (${signed(data.b - data.a)}) per request`;
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
// full colour where a frame's difference is at least half of its width
const color = ({ data }) => {
  const share = Math.max(-1, Math.min(1, (data.b - data.a) / (data.value || 1))), strength = Math.abs(share);
  const hue = share > 0 ? 18 : 210;
  return `hsl(${hue} ${Math.round(85 * strength)}% ${Math.round((dark ? 78 : 92) - 28 * strength)}%)`;
};
const chart = flamegraph.default()
  .width(Math.max(graph.clientWidth, 640))
  .cellHeight(18).minFrameSize(2).transitionDuration(200).inverted(true).sort(true)
  .setColorMapper(color)
  .setLabelHandler(describe)
  .setDetailsElement(details)
  .selfValue(false);
const draw = () => {
  graph.replaceChildren();
  d3.select(graph).datum(structuredClone(tree)).call(chart);
};
draw();
document.getElementById("search").addEventListener("input", event =>
  event.target.value ? chart.search(event.target.value) : chart.clear());
document.getElementById("reset").addEventListener("click", () => chart.resetZoom());
document.getElementById("invert").addEventListener("click", ({ currentTarget }) => {
  const top = currentTarget.getAttribute("aria-pressed") !== "true";
  currentTarget.setAttribute("aria-pressed", String(top));
  chart.inverted(top);
  draw();
});
