"use strict";
// Controls and the start of the page.

function draw_filters() {
  const narrowed = state.words !== "" || facets.some(facet => state.off[facet.name].size > 0);
  by_id("filter-count").textContent = narrowed ? `${shown().length} of ${cases.length} cases` : `${cases.length} ${cases.length === 1 ? "case" : "cases"}`;
  by_id("filter-reset").hidden = !narrowed;
  for (const facet of facets) {
    const off = state.off[facet.name], fold = by_id(`facet-${facet.name}`);
    fold.querySelector("small").textContent = off.size === 0 ? "all" : `${facet.values.length - off.size} of ${facet.values.length}`;
    fold.querySelectorAll("input[name]").forEach(box => { box.checked = !off.has(box.name); });
  }
}

function facet_control(facet) {
  const off = state.off[facet.name], of_all = keep => () => { for (const name of facet.values) keep ? off.delete(name) : off.add(name); render(); };
  return html("details", {class: "facet", id: `facet-${facet.name}`},
    html("summary", {}, `${facet.name.replaceAll("_", " ")} `, html("small", {}, "all")),
    html("div", {class: "choices"}, ...facet.values.map(name => html("label", {}, html("input", {type: "checkbox", name, checked: "",
      onchange: () => { toggle(off, name); render(); }}), ` ${name}`)),
    html("span", {class: "both"}, html("button", {type: "button", onclick: of_all(true)}, "all"), html("button", {type: "button", onclick: of_all(false)}, "none"))));
}

function draw_once() {
  by_id("facets").append(...facets.map(facet_control));
  if (report.roofs.length > 1)
    by_id("roofline-controls").append(html("label", {}, "Roofs of ", html("select", {
      onchange: event => { state.roofs = Number(event.target.value); render(); },
    }, ...report.roofs.map((roofs, index) => html("option", {value: index}, roofs.name)))));
  if (report.plan_pairs.length > 0)
    by_id("roofline-controls").append(html("label", {}, html("input", {type: "checkbox", checked: "",
      onchange: event => { state.links = event.target.checked; render(); }}), " arrows from eager to fused"));
  by_id("kernels-controls").append(html("label", {}, html("input", {type: "checkbox", checked: "",
    onchange: event => { state.share = event.target.checked; render(); }}), " each bar is the whole of its case"));
  const constants = Object.entries(report.constants).filter(([, content]) => content !== null);
  by_id("constants").append(html("details", {}, html("summary", {}, "The same in all cases"),
    html("dl", {class: "facts"}, ...constants.flatMap(([name, content]) =>
      [html("dt", {}, name), html("dd", {}, String(content))]))));
  const most = 30, warned = report.warnings;
  by_id("warnings").replaceChildren(...warned.length === 0 ? [html("p", {class: "hint"}, "None.")] : [html("ul", {},
    ...warned.slice(0, most).map(text => html("li", {}, text)),
    warned.length > most ? html("li", {}, `and ${warned.length - most} more, see the column warnings`) : null)]);
  draw_twin("glossary", () => ({label: "Columns", rows: report.glossary, columns: ["name", "unit", "group", "origin", "definition", "formula"]
    .map(name => ({head: name, text: true, cell: column => column[name] || null}))}));
}

function listen() {
  let typing = null; // draws once the typing rests
  by_id("filter").addEventListener("input", event => {
    state.words = event.target.value.trim();
    clearTimeout(typing);
    typing = setTimeout(render, cases.length > 300 ? 200 : 0);
  });
  by_id("filter-reset").addEventListener("click", () => {
    state.words = by_id("filter").value = "";
    for (const facet of facets) state.off[facet.name].clear();
    render();
    by_id("filter").focus();
  });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width && !printing) { width = innerWidth; render(); } });
  addEventListener("keydown", event => {
    if (event.key !== "Escape") return;
    const open = document.querySelector(".facet[open]");
    hide_tooltip();
    if (open) { open.open = false; open.querySelector("summary").focus(); }
    else if (state.selected !== null) select(state.selected);
  });
  addEventListener("click", event => document.querySelectorAll(".facet[open]").forEach(fold => { if (!fold.contains(event.target)) fold.open = false; }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => render());
  // Paper shows every chart, at its width and in light colours (the style sheet sees to those).
  const print = on => () => {
    printing = on;
    document.documentElement.classList.toggle("on-paper", on);
    for (const one of sections) one.stale = true;
    draw_stale(on);
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
  const nearness = new IntersectionObserver(entries => {
    for (const entry of entries) sections.find(one => one.id === entry.target.id).near = entry.isIntersecting;
    draw_stale(false);
  }, {rootMargin: "500px"});
  for (const one of sections) nearness.observe(by_id(one.id));
}

for (const link of document.querySelectorAll("nav a")) {
  const absent = {"#s-phases": report.trajectories.length === 0, "#s-cache": report.caches.length === 0, "#s-history": trends.length === 0}[link.hash];
  if (absent) { link.hidden = true; by_id(link.hash.slice(1)).hidden = true; }
}
draw_once();
listen();
render();
